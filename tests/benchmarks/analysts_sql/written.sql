-- What analysts ask of the visits of a hospital, in about the frequency in which people need it.
--
-- Each question has a name and a form, in one line, and the columns by which its rows are told apart.
-- Where several orders of the rows or several ways to count are right, `within` grants a share.

-- plain aggregates, filters and groups -----------------------------------------------------------

-- all_visits: COUNT
-- keys:
SELECT COUNT(*) FROM visits;

-- visits_by_sex: COUNT by group
-- keys: sex
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex;

-- visits_by_ward: COUNT by group
-- keys: ward
SELECT ward, count(*) AS visits FROM visits GROUP BY ward ORDER BY visits DESC;

-- adults_in_a1: COUNT with WHERE
-- keys:
SELECT COUNT(*) AS n FROM visits WHERE age >= 18 AND ward = 'A1';

-- cost_by_diagnosis: SUM, AVG, MIN, MAX by group
-- keys: diagnosis
SELECT
  diagnosis,
  SUM(cost) AS total,
  AVG(cost) AS mean,
  MIN(cost) AS least,
  MAX(cost) AS most
FROM visits
GROUP BY diagnosis
ORDER BY diagnosis;

-- mean_age: AVG
-- keys:
SELECT AVG(age) AS mean_age FROM visits;

-- mean_age_by_diagnosis: AVG by group
-- keys: diagnosis
SELECT diagnosis, ROUND(AVG(age), 1) AS mean_age FROM visits GROUP BY 1 ORDER BY 1;

-- oldest_by_ward: MIN, MAX by group
-- keys: ward
SELECT ward, MIN(age) AS youngest, MAX(age) AS oldest FROM visits GROUP BY ward;

-- stays_of_old_women: AVG with WHERE
-- keys:
SELECT AVG(los) AS days FROM visits WHERE sex = 'F' AND age BETWEEN 65 AND 80;

-- infarct_by_decade: COUNT by computed key
-- keys: decade
SELECT age // 10 * 10 AS decade, COUNT(*) AS n
FROM visits
WHERE diagnosis = 'infarct'
GROUP BY decade
ORDER BY decade;

-- by_age_group: COUNT by CASE
-- keys: age_group
SELECT
  CASE
    WHEN age < 18 THEN '0-17'
    WHEN age < 40 THEN '18-39'
    WHEN age < 65 THEN '40-64'
    ELSE '65+'
  END AS age_group,
  COUNT(*) AS visits,
  AVG(cost) AS mean_cost
FROM visits
GROUP BY age_group
ORDER BY age_group;

-- by_zip_area: COUNT by computed key
-- keys: area
SELECT left(zip, 2) AS area, COUNT(*) AS n, SUM(cost) AS billed FROM visits GROUP BY area;

-- satisfied_by_ward: COUNT by two groups
-- keys: ward, satisfied
SELECT ward, satisfied, COUNT(*) AS n
FROM visits
WHERE age >= 18
GROUP BY ward, satisfied
ORDER BY ward, satisfied;

-- some_zips: COUNT with IN
-- keys: zip
SELECT zip, COUNT(*) AS n FROM visits WHERE zip IN ('10000', '10007', '11014') GROUP BY zip;

-- zip_like: SUM with LIKE
-- keys:
SELECT SUM(cost) FROM visits WHERE zip LIKE '12%';

-- busy_groups: HAVING
-- keys: ward, diagnosis
SELECT ward, diagnosis, COUNT(*) AS n
FROM visits
GROUP BY ward, diagnosis
HAVING COUNT(*) > 200
ORDER BY n DESC, ward, diagnosis;

-- groups_of_cost: HAVING
-- keys: sex, diagnosis
SELECT sex, diagnosis, AVG(cost) AS mean_cost
FROM visits
WHERE age > 30
GROUP BY sex, diagnosis
HAVING COUNT(*) >= 100
ORDER BY mean_cost DESC;

-- women_and_men: FILTER
-- keys: diagnosis
SELECT
  diagnosis,
  COUNT(*) FILTER (WHERE sex = 'F') AS women,
  COUNT(*) FILTER (WHERE sex = 'M') AS men
FROM visits
GROUP BY diagnosis;

-- first_and_last_bill: MIN, MAX of dates
-- keys:
SELECT MIN(billed) AS first, MAX(billed) AS last FROM visits;

-- flu_or_asthma: COUNT with OR and NOT
-- keys: sex
SELECT sex, COUNT(*) AS n
FROM visits
WHERE (diagnosis = 'flu' OR diagnosis = 'asthma') AND NOT (age < 18)
GROUP BY sex;

-- costly_wards: WITH that filters
-- keys: ward
WITH costly AS (SELECT * FROM visits WHERE cost > 2000)
SELECT ward, COUNT(*) AS n, AVG(los) AS days FROM costly GROUP BY ward ORDER BY ward;

-- pivot_by_hand: SUM of CASE
-- keys: diagnosis
SELECT
  diagnosis,
  SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women,
  SUM(CASE WHEN age >= 65 THEN cost ELSE 0 END) AS cost_of_old
FROM visits
GROUP BY diagnosis
ORDER BY diagnosis;

-- three_wards: LIMIT
-- keys: ward
SELECT ward, SUM(los) AS days FROM visits GROUP BY ward ORDER BY days DESC LIMIT 3;

-- ratios, differences and weighted means of aggregates -------------------------------------------

-- cost_per_day: SUM / SUM
-- keys: ward
SELECT ward, SUM(cost) / SUM(los) AS per_day FROM visits WHERE age >= 65 GROUP BY ward ORDER BY ward;

-- cost_per_visit: SUM / COUNT
-- keys: sex
SELECT sex, ROUND(SUM(cost) / COUNT(*), 2) AS per_visit FROM visits WHERE age < 50 GROUP BY sex;

-- share_of_women: ROUND(100.0 * …)
-- keys: ward
SELECT ward, ROUND(100.0 * SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*), 1) AS women_percent
FROM visits
GROUP BY ward
ORDER BY ward;

-- satisfied_percent: ROUND(100.0 * …)
-- keys: ward
SELECT
  ward,
  ROUND(100.0 * COUNT(*) FILTER (WHERE satisfied) / NULLIF(COUNT(satisfied), 0), 1) AS percent
FROM visits
GROUP BY ward;

-- mean_of_cast: AVG of a cast
-- keys: sex
SELECT sex, AVG(satisfied::INT) AS satisfied, AVG((age >= 65)::INT) AS old FROM visits GROUP BY sex;

-- spread_of_cost: MAX - MIN
-- keys: ward
SELECT ward, MAX(cost) - MIN(cost) AS spread FROM visits GROUP BY ward ORDER BY ward;

-- age_weighted_by_stay: weighted mean
-- keys: diagnosis
SELECT diagnosis, SUM(age * los) * 1.0 / SUM(los) AS mean_age FROM visits GROUP BY diagnosis;

-- billed_or_zero: COALESCE(SUM())
-- keys:
SELECT COALESCE(SUM(cost), 0) AS billed FROM visits WHERE ward = 'Z9';

-- share_by_scalar: share by a scalar subquery
-- keys: sex
SELECT sex, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share
FROM visits
GROUP BY sex
ORDER BY share DESC;

-- share_of_women_by_scalar: share by a scalar subquery
-- keys: ward
SELECT ward, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits WHERE sex = 'F') AS percent
FROM visits
WHERE sex = 'F'
GROUP BY ward;

-- share_by_window: share by a window
-- keys: ward
SELECT ward, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent
FROM visits
GROUP BY ward
ORDER BY percent DESC;

-- share_in_group: share by a window
-- keys: sex, diagnosis
SELECT sex, diagnosis, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY sex) AS percent
FROM visits
GROUP BY sex, diagnosis
ORDER BY sex, diagnosis;

-- young_less_old: difference of counts
-- keys: ward
SELECT ward, COUNT(*) FILTER (WHERE age < 40) - COUNT(*) FILTER (WHERE age >= 40) AS more_young
FROM visits
GROUP BY ward;

-- names of tables --------------------------------------------------------------------------------

-- in_schema: qualified name
-- keys: ward
SELECT v.ward, COUNT(*) AS n FROM main.visits AS v GROUP BY v.ward;

-- in_database: qualified name
-- keys: sex
SELECT visits.sex, AVG(visits.age) AS age FROM hospital.main.visits GROUP BY visits.sex;

-- in_quotes: quoted name
-- keys: diagnosis
SELECT "diagnosis", SUM("cost") AS "Total cost" FROM "main"."visits" GROUP BY "diagnosis";

-- of_the_release: the release's own name
-- keys: sex
SELECT sex, COUNT(*) AS n FROM visits_public GROUP BY sex;

-- from_first: FROM first
-- keys: ward
FROM visits SELECT ward, MAX(age) AS oldest GROUP BY ALL ORDER BY ward;

-- moments and dates ------------------------------------------------------------------------------

-- by_year: year() of a TIMESTAMP
-- keys: y
SELECT year(admitted) AS y, COUNT(*) AS n FROM visits GROUP BY y ORDER BY y;

-- by_month: date_trunc of a TIMESTAMP
-- keys: month
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;

-- by_month_of_bill: date_trunc of a DATE
-- keys: month
SELECT date_trunc('month', billed) AS month, SUM(cost) AS billed_cost FROM visits GROUP BY 1 ORDER BY 1;

-- by_hour: hour() of a TIMESTAMP
-- keys: hour
SELECT hour(admitted) AS hour, COUNT(*) AS n FROM visits GROUP BY hour ORDER BY hour;

-- by_weekday: dayname() of a TIMESTAMP
-- keys: weekday
SELECT dayname(admitted) AS weekday, COUNT(*) AS n FROM visits GROUP BY weekday ORDER BY n DESC;

-- in_a_year: range of a TIMESTAMP
-- keys: ward
SELECT ward, COUNT(*) AS n
FROM visits
WHERE admitted >= TIMESTAMP '2023-01-01' AND admitted < TIMESTAMP '2024-01-01'
GROUP BY ward;

-- since_march: ::DATE of a TIMESTAMP
-- keys:
SELECT COUNT(*) AS n, SUM(cost) AS billed FROM visits WHERE admitted::DATE >= '2024-03-01';

-- days_to_bill: date_diff
-- keys: ward
SELECT ward, AVG(date_diff('day', admitted, billed)) AS days FROM visits GROUP BY ward;

-- by_quarter_of_bill: EXTRACT of a DATE
-- keys: y, q
SELECT EXTRACT(year FROM billed) AS y, EXTRACT(quarter FROM billed) AS q, COUNT(*) AS n
FROM visits
GROUP BY y, q
ORDER BY y, q;

-- label_of_month: strftime
-- keys: month
SELECT strftime(billed, '%Y-%m') AS month, COUNT(*) AS n
FROM visits
WHERE billed BETWEEN DATE '2023-01-01' AND DATE '2023-12-31'
GROUP BY month
ORDER BY month;

-- arithmetic of a record -------------------------------------------------------------------------

-- classes_of_cost: FLOOR of a DECIMAL
-- keys: class
SELECT FLOOR(cost / 500) * 500 AS class, COUNT(*) AS n FROM visits GROUP BY class ORDER BY class;

-- cost_with_tax: arithmetic of a DECIMAL
-- keys: ward
SELECT ward, SUM(cost * 1.19) AS gross, AVG(cost / los) AS daily FROM visits GROUP BY ward;

-- unknown_as_no: COALESCE in a group
-- keys: pleased
SELECT COALESCE(satisfied, FALSE) AS pleased, COUNT(*) AS n FROM visits GROUP BY pleased;

-- year_of_birth: arithmetic of generalized columns
-- keys: born
SELECT year(admitted) - age AS born, COUNT(*) AS n FROM visits GROUP BY born ORDER BY born;

-- older_than_stay: comparison of columns
-- keys:
SELECT COUNT(*) AS n FROM visits WHERE age > 3 * los AND cost > 100 * los;

-- aggregates over groups, top-N, windows ---------------------------------------------------------

-- mean_of_wards: aggregate over a grouped CTE
-- keys:
WITH per_ward AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
SELECT AVG(n) AS mean_visits, MAX(n) AS most FROM per_ward;

-- wards_of_many_old: aggregate over a grouped subquery
-- keys:
SELECT COUNT(*) AS wards
FROM (SELECT ward, AVG(age) AS mean_age FROM visits GROUP BY ward) AS w
WHERE mean_age > 45;

-- filter_on_groups: filter on a grouped CTE
-- keys: zip
WITH zips AS (SELECT zip, COUNT(*) AS n, SUM(cost) AS billed FROM visits GROUP BY zip)
SELECT zip, n, billed / n AS per_visit FROM zips WHERE n > 100 ORDER BY zip;

-- top_zips: top-N
-- keys: zip
SELECT zip, COUNT(*) AS n FROM visits GROUP BY zip ORDER BY n DESC, zip LIMIT 5;

-- top_diagnosis_by_ward: QUALIFY
-- keys: ward, diagnosis
SELECT ward, diagnosis, COUNT(*) AS n
FROM visits
GROUP BY ward, diagnosis
QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY COUNT(*) DESC, diagnosis) <= 2
ORDER BY ward, n DESC;

-- top_by_rank: top-N by a window in a subquery
-- keys: sex, diagnosis
SELECT sex, diagnosis, n
FROM (
  SELECT
    sex,
    diagnosis,
    COUNT(*) AS n,
    RANK() OVER (PARTITION BY sex ORDER BY COUNT(*) DESC) AS place
  FROM visits
  GROUP BY sex, diagnosis
)
WHERE place <= 3;

-- ranked_wards: RANK over groups
-- keys: ward
SELECT ward, SUM(cost) AS billed, RANK() OVER (ORDER BY SUM(cost) DESC) AS place
FROM visits
GROUP BY ward
ORDER BY place;

-- running_total: running total over groups
-- keys: month
SELECT
  date_trunc('month', admitted) AS month,
  SUM(COUNT(*)) OVER (ORDER BY date_trunc('month', admitted)) AS so_far
FROM visits
GROUP BY 1
ORDER BY 1;

-- running_cost_of_years: running total over a CTE
-- keys: y
WITH yearly AS (SELECT year(admitted) AS y, SUM(cost) AS billed FROM visits GROUP BY y)
SELECT y, billed, SUM(billed) OVER (ORDER BY y) AS so_far FROM yearly ORDER BY y;

-- change_to_last_month: LAG over groups
-- keys: month
WITH monthly AS (
  SELECT date_trunc('month', billed) AS month, COUNT(*) AS n FROM visits GROUP BY month
)
SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM monthly ORDER BY month;

-- growth_of_years: LAG over groups
-- keys: y
SELECT
  year(admitted) AS y,
  COUNT(*) AS n,
  ROUND(100.0 * COUNT(*) / LAG(COUNT(*)) OVER (ORDER BY year(admitted)) - 100, 1) AS growth
FROM visits
GROUP BY y
ORDER BY y;

-- visits_above_mean: window over records
-- keys:
SELECT COUNT(*) AS n
FROM (SELECT cost, AVG(cost) OVER (PARTITION BY ward) AS usual FROM visits)
WHERE cost > usual;

-- statistics -------------------------------------------------------------------------------------

-- median_cost: MEDIAN
-- keys: ward
SELECT ward, MEDIAN(cost) AS median_cost FROM visits GROUP BY ward ORDER BY ward;

-- median_age: MEDIAN
-- keys: diagnosis
SELECT diagnosis, MEDIAN(age) AS median_age FROM visits GROUP BY diagnosis ORDER BY diagnosis;

-- quartiles_of_stay: quantiles
-- keys:
SELECT quantile_cont(los, 0.25) AS q1, quantile_cont(los, 0.75) AS q3 FROM visits;

-- ninetieth_of_age: quantiles
-- keys: sex
SELECT sex, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS p90 FROM visits GROUP BY sex;

-- usual_diagnosis: MODE
-- keys: ward
SELECT ward, MODE(diagnosis) AS usual FROM visits GROUP BY ward;

-- spread_of_age: STDDEV, variance
-- keys: ward
SELECT ward, AVG(age) AS mean, STDDEV(age) AS sd, VAR_POP(los) AS var_los FROM visits GROUP BY ward;

-- age_and_cost: CORR
-- keys:
SELECT CORR(age, cost) AS r, CORR(los, cost) AS r_los FROM visits;

-- zips_by_ward: COUNT(DISTINCT)
-- keys: ward
SELECT ward, COUNT(DISTINCT zip) AS zips, COUNT(DISTINCT diagnosis) AS kinds FROM visits GROUP BY ward;

-- rows, sets and levels of groups ----------------------------------------------------------------

-- wards_there_are: DISTINCT
-- keys: ward
SELECT DISTINCT ward FROM visits ORDER BY ward;

-- combinations: DISTINCT
-- keys: sex, satisfied
SELECT DISTINCT sex, satisfied FROM visits ORDER BY sex, satisfied;

-- two_counts: UNION ALL
-- keys: what
SELECT 'all' AS what, COUNT(*) AS n FROM visits
UNION ALL
SELECT 'old', COUNT(*) FROM visits WHERE age >= 65;

-- with_totals: ROLLUP
-- keys: ward, sex
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, sex) ORDER BY ward, sex;

-- crossed: CUBE
-- keys: sex, diagnosis
SELECT sex, diagnosis, SUM(cost) AS billed FROM visits GROUP BY CUBE (sex, diagnosis);

-- two_listings: GROUPING SETS
-- keys: sex, diagnosis
SELECT sex, diagnosis, AVG(los) AS days FROM visits GROUP BY GROUPING SETS ((sex), (diagnosis));

-- wide: PIVOT
-- keys: diagnosis
PIVOT (SELECT diagnosis, ward FROM visits) ON ward USING COUNT(*) GROUP BY diagnosis;

-- next_page: OFFSET
-- keys: sex, diagnosis
SELECT sex, diagnosis, COUNT(*) AS n
FROM visits
GROUP BY sex, diagnosis
ORDER BY sex, diagnosis
LIMIT 4 OFFSET 4;

-- subqueries and joins ---------------------------------------------------------------------------

-- in_the_east: IN (SELECT …)
-- keys: sex
SELECT sex, COUNT(*) AS n
FROM visits
WHERE ward IN (SELECT ward FROM wards WHERE building = 'East')
GROUP BY sex;

-- in_large_districts: IN (SELECT …)
-- keys:
SELECT COUNT(*) AS n FROM visits WHERE zip IN (SELECT zip FROM districts WHERE people > 25000);

-- of_small_wards: EXISTS
-- keys: ward
SELECT ward, AVG(age) AS mean_age
FROM visits AS v
WHERE EXISTS (SELECT 1 FROM wards AS w WHERE w.ward = v.ward AND w.beds < 25)
GROUP BY ward;

-- above_average: scalar subquery in WHERE
-- keys: ward
SELECT ward, COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) GROUP BY ward;

-- by_building: JOIN on one column
-- keys: building
SELECT w.building, COUNT(*) AS n, SUM(v.cost) AS billed
FROM visits AS v
JOIN wards AS w ON v.ward = w.ward
GROUP BY w.building
ORDER BY w.building;

-- by_district: LEFT JOIN on one column
-- keys: district
SELECT d.district, COUNT(*) AS n, AVG(v.age) AS mean_age
FROM visits AS v
LEFT JOIN districts AS d USING (zip)
GROUP BY d.district
ORDER BY d.district;

-- at_tariff: JOIN on two columns
-- keys: ward
SELECT v.ward, SUM(v.los * t.day_rate) AS at_tariff, SUM(v.cost) AS billed
FROM visits AS v
JOIN tariffs AS t ON t.ward = v.ward AND t.diagnosis = v.diagnosis
WHERE v.sex = 'F'
GROUP BY v.ward
ORDER BY v.ward;

-- rare functions ---------------------------------------------------------------------------------

-- histogram_of_age: width_bucket, which DuckDB lacks, by LEAST and GREATEST
-- keys: bucket
SELECT GREATEST(0, LEAST(11, age // 10 + 1)) AS bucket, COUNT(*) AS n
FROM visits
GROUP BY bucket
ORDER BY bucket;

-- any_unhappy: BOOL_OR, BOOL_AND
-- keys: ward
SELECT ward, BOOL_OR(los > 20) AS any_long, BOOL_AND(age < 95) AS all_young FROM visits GROUP BY ward;

-- diagnosis_of_most_costly: ARG_MAX
-- keys: sex
SELECT sex, ARG_MAX(ward, cost) AS ward FROM visits GROUP BY sex;

-- kinds_listed: STRING_AGG
-- keys: ward
SELECT ward, STRING_AGG(DISTINCT diagnosis, ', ' ORDER BY diagnosis) AS kinds FROM visits GROUP BY ward;

-- approximately: APPROX_COUNT_DISTINCT, APPROX_QUANTILE
-- keys: sex
-- within: 0.1
SELECT sex, APPROX_COUNT_DISTINCT(zip) AS zips, APPROX_QUANTILE(cost, 0.5) AS middle
FROM visits
GROUP BY sex;
