CREATE TEMPORARY VIEW products AS
SELECT product, title, CAST(price AS DECIMAL(10, 2)) AS price FROM json.`@DATA@/products`;

CREATE MATERIALIZED VIEW per_day TBLPROPERTIES ('headrace.refresh_policy' = 'AUTO') AS
SELECT day, count(*) AS orders, sum(value) AS value FROM default.order_values GROUP BY day;

CREATE MATERIALIZED VIEW per_product AS
SELECT p.title, sum(quantity) AS quantity, count(DISTINCT order_id) AS orders
FROM lines JOIN products p USING (product) GROUP BY p.title;

CREATE MATERIALIZED VIEW top_products AS
SELECT title, quantity FROM per_product ORDER BY quantity DESC, title LIMIT 3;

CREATE MATERIALIZED VIEW repeat_customers AS
SELECT name, count(*) AS orders FROM orders JOIN customers USING (customer) GROUP BY name HAVING count(*) > 2;

CREATE MATERIALIZED VIEW strangers AS
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.customer);

CREATE MATERIALIZED VIEW everything AS
SELECT 'order' AS kind, order_id AS id FROM orders UNION ALL SELECT 'product', product FROM products;

CREATE MATERIALIZED VIEW country_days AS
SELECT country, day, count(*) AS n, grouping_id() AS level
FROM orders JOIN customers USING (customer) GROUP BY country, day WITH ROLLUP;

CREATE STREAMING TABLE large_lines AS SELECT order_id, quantity FROM STREAM lines WHERE quantity > 5;

CREATE STREAMING TABLE odd_lines;
CREATE FLOW odd AS INSERT INTO odd_lines BY NAME SELECT product, quantity FROM STREAM lines WHERE product % 2 = 1;
