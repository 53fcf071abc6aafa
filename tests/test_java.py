"""scripts/java.sh, on a PATH that holds nothing but the few tools it calls and made-up javas."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "java.sh"


@dataclass
class Machine:
    root: Path

    def __post_init__(self) -> None:
        (self.root / "bin").mkdir()
        (self.root / "jvm").mkdir()
        for tool in ("sh", "sed", "readlink", "mkdir", "cat", "chmod"):
            found = shutil.which(tool)
            assert found
            (self.root / "bin" / tool).symlink_to(found)
        self.program("bin/id", "echo 1000")

    def program(self, path: str, body: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def java(self, home: str, version: str) -> Path:
        """A java that says its version as the real ones do, on stderr."""
        self.program(f"{home}/bin/java", f"echo 'openjdk version \"{version}\" 2024-01-01' >&2")
        return self.root / home

    def on_path(self, home: Path) -> None:
        (self.root / "bin" / "java").symlink_to(home / "bin" / "java")

    def ask(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = {"PATH": str(self.root / "bin"), "JVM_DIRS": str(self.root / "jvm")}
        return subprocess.run(
            [self.root / "bin" / "sh", SCRIPT, *args],
            env=path | env,
            capture_output=True,
            text=True,
            check=False,
        )

    def finds(self, home: Path, *args: str, **env: str) -> str:
        answer = self.ask(*args, **env)
        assert (answer.returncode, answer.stdout) == (0, f"{home}\n"), answer.stderr
        return answer.stderr

    def refuses(self, *args: str, **env: str) -> str:
        answer = self.ask(*args, **env)
        assert (answer.returncode, answer.stdout) == (1, ""), answer.stdout
        return answer.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("version", ["17", "17.0.15", "17-ea", "21", "21.0.2", "25-beta"])
def test_takes_a_java_on_the_path(machine: Machine, version: str) -> None:
    machine.on_path(machine.java("opt/jdk", version))
    assert machine.finds(machine.root / "opt/jdk") == ""


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", "8"), ("1.7.0", "7"), ("11.0.21", "11"), ("16", "16")])
def test_refuses_an_old_one(machine: Machine, version: str, major: str) -> None:
    machine.on_path(machine.java("opt/jdk", version))
    said = machine.refuses()
    assert f"is Java {major};" in said
    assert "Spark needs Java 17 or newer" in said
    assert "openjdk-17-jdk-headless" in said


def test_refuses_when_there_is_none(machine: Machine) -> None:
    assert "Spark needs Java 17 or newer" in machine.refuses()


def test_java_home_comes_before_the_path(machine: Machine) -> None:
    machine.on_path(machine.java("opt/jdk17", "17.0.1"))
    home = machine.java("opt/jdk21", "21.0.1")
    assert machine.finds(home, JAVA_HOME=str(home)) == ""


def test_an_old_java_home_yields_to_the_path(machine: Machine) -> None:
    machine.on_path(machine.java("opt/jdk17", "17.0.1"))
    said = machine.finds(machine.root / "opt/jdk17", JAVA_HOME=str(machine.java("opt/jdk8", "1.8.0_392")))
    assert "is Java 8; using Java 17" in said


def test_a_java_home_without_java_yields_to_the_path(machine: Machine) -> None:
    machine.on_path(machine.java("opt/jdk17", "17.0.1"))
    said = machine.finds(machine.root / "opt/jdk17", JAVA_HOME=str(machine.root / "gone"))
    assert "does not run; using Java 17" in said


def test_an_old_java_on_the_path_yields_to_an_installed_one(machine: Machine) -> None:
    machine.on_path(machine.java("opt/jdk8", "1.8.0_392"))
    machine.java("jvm/a-25", "25")
    machine.java("jvm/b-17", "17.0.1")
    machine.java("jvm/c-11", "11.0.2")
    assert "is Java 8; using Java 17" in machine.finds(machine.root / "jvm/b-17")


def test_asks_java_itself_for_its_home(machine: Machine) -> None:
    """A version manager puts a script on the PATH: where the script lies says nothing."""
    machine.program("bin/java", "echo '    java.home = /opt/the jdk' >&2; echo 'openjdk version \"17.0.1\"' >&2")
    machine.finds(Path("/opt/the jdk"))


APT = """
echo "$@" >> "{root}/apt.log"
case "$*" in *openjdk-21*)
    mkdir -p "{root}/jvm/new/bin"
    echo '#!/bin/sh' > "{root}/jvm/new/bin/java"
    echo 'echo "openjdk version \\"21.0.1\\"" >&2' >> "{root}/jvm/new/bin/java"
    chmod +x "{root}/jvm/new/bin/java" ;;
*install*) exit 100 ;;
esac
"""


def test_root_installs_the_first_that_the_release_carries(machine: Machine) -> None:
    machine.program("bin/apt-get", APT.format(root=machine.root))
    machine.program("bin/id", "echo 0")
    machine.finds(machine.root / "jvm/new", "--install")
    update, first, second = (machine.root / "apt.log").read_text().splitlines()
    assert "update" in update
    assert "openjdk-17-jdk-headless" in first
    assert "openjdk-21-jdk-headless" in second


@pytest.mark.parametrize(("args", "user"), [(["--install"], "1000"), ([], "0")])
def test_installs_only_as_root_and_when_asked(machine: Machine, args: list[str], user: str) -> None:
    machine.program("bin/apt-get", APT.format(root=machine.root))
    machine.program("bin/id", f"echo {user}")
    machine.refuses(*args)
    assert not (machine.root / "apt.log").exists()


def test_says_when_installing_fails(machine: Machine) -> None:
    machine.program("bin/apt-get", "exit 100")
    machine.program("bin/id", "echo 0")
    assert "apt-get could not install it" in machine.refuses("--install")
