-- Kept up to date: a run reads the new orders and changes the days and cities that they touch.
CREATE MATERIALIZED VIEW daily_revenue AS
SELECT day, city, COUNT(*) AS orders, SUM(amount) AS revenue
FROM orders JOIN customers USING (customer_id)
GROUP BY day, city;

-- Over another view: it reads what changed there.
CREATE MATERIALIZED VIEW city_revenue AS
SELECT city, SUM(orders) AS orders, SUM(revenue) AS revenue, MAX(revenue) AS best_day
FROM daily_revenue
GROUP BY city;
