#!/bin/sh
# Prints the home of a Java that Spark can run on (17 or newer), for JAVA_HOME.
#
# Looks at JAVA_HOME, then at the PATH, then where packages put Java. With --install, and only as root
# on a Debian-like machine, it installs one when there is none. Everything but the answer goes to stderr.
set -eu

NEEDED=17
JVM_DIRS=${JVM_DIRS:-/usr/lib/jvm:/opt/java:/usr/java:/Library/Java/JavaVirtualMachines}

say() { echo "java.sh: $*" >&2; }

# about COMMAND: sets $major and $home of this java; fails when it is not one.
# "1.8.0_392" is Java 8; since 9 the first number counts: "17.0.15", "21", "25-ea".
about() {
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(printf '%s\n' "$settings" | sed -n 's/.* version "\([^"]*\)".*/\1/p' | sed -n 1p)
    major=${version#1.}
    major=${major%%[!0-9]*}
    [ -n "$major" ] || return 1
    home=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.home = //p' | sed -n 1p)
    if [ -z "$home" ]; then
        binary=$(readlink -f "$1")
        home=${binary%/bin/java}
    fi
}

# The oldest that will do, of all that are installed: Spark is tried longest on that one.
installed() {
    best= best_home=
    old_ifs=$IFS
    IFS=:
    for dir in $JVM_DIRS; do
        IFS=$old_ifs
        for java in "$dir"/bin/java "$dir"/*/bin/java "$dir"/*/Contents/Home/bin/java; do
            [ -x "$java" ] && about "$java" && [ "$major" -ge $NEEDED ] || continue
            if [ -z "$best" ] || [ "$major" -lt "$best" ]; then
                best=$major best_home=$home
            fi
        done
    done
    IFS=$old_ifs
    [ -n "$best" ]
}

install() {
    say "no Java $NEEDED or newer found: installing one with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >&2 || return 1
    # Not every release carries 17.
    for package in openjdk-17-jdk-headless openjdk-21-jdk-headless default-jdk-headless; do
        if apt-get install -q -y --no-install-recommends "$package" >&2; then return 0; fi
    done
    return 1
}

wrong=
for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)"; do
    [ -n "$candidate" ] || continue
    if ! about "$candidate"; then
        wrong="$wrong$candidate does not run; "
    elif [ "$major" -ge $NEEDED ]; then
        [ -z "$wrong" ] || say "${wrong}using Java $major in $home"
        echo "$home"
        exit 0
    else
        wrong="$wrong$candidate is Java $major; "
    fi
done

if installed; then
    say "${wrong:-no java on the PATH; }using Java $best in $best_home"
    echo "$best_home"
    exit 0
fi

if [ "${1:-}" = --install ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    if install && installed; then
        echo "$best_home"
        exit 0
    fi
    say "apt-get could not install it"
fi

say "${wrong}Spark needs Java $NEEDED or newer."
say "Install a JDK (Debian and Ubuntu: openjdk-17-jdk-headless; Fedora: java-21-openjdk-devel;"
say "macOS: brew install openjdk@17) and put it on the PATH or set JAVA_HOME."
exit 1
