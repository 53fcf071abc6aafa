-- The ten are kept, and so are all sums: those are read only when one of the ten falls behind an eleventh.
-- The policy says when a service refreshes it; Spark passes over it.
CREATE MATERIALIZED VIEW top_customers
TBLPROPERTIES ('headrace.policy' = 'every 10 min | after_rows 1000')
AS
SELECT customer_id, name, COUNT(*) AS orders, SUM(amount) AS revenue
FROM orders JOIN customers USING (customer_id)
GROUP BY customer_id, name
ORDER BY revenue DESC
LIMIT 10;
