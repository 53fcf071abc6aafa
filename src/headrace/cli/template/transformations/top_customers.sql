-- Which ten it keeps depends on all rows, so the LIMIT is recomputed; the sums below it are not.
-- The policy says when a service refreshes it; Spark passes over it.
CREATE MATERIALIZED VIEW top_customers
TBLPROPERTIES ('headrace.policy' = 'every 10 min | after_rows 1000')
AS
SELECT customer_id, name, COUNT(*) AS orders, SUM(amount) AS revenue
FROM orders JOIN customers USING (customer_id)
GROUP BY customer_id, name
ORDER BY revenue DESC
LIMIT 10;
