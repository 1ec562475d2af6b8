-- What tools write when somebody clicks: Apache Superset, Metabase, Looker and Tableau, as they
-- generate SQL for DuckDB and PostgreSQL.

-- superset_pie: COUNT(*) AS "count", row limit
-- keys: ward
SELECT "ward" AS "ward", COUNT(*) AS "count"
FROM main."visits"
GROUP BY "ward"
ORDER BY "count" DESC
LIMIT 1000;

-- superset_time_series: DATE_TRUNC of a TIMESTAMP, time range
-- keys: __timestamp
SELECT DATE_TRUNC('month', "admitted") AS "__timestamp", SUM("cost") AS "SUM(cost)"
FROM "main"."visits"
WHERE "admitted" >= '2023-01-01 00:00:00.000000' AND "admitted" < '2024-01-01 00:00:00.000000'
GROUP BY DATE_TRUNC('month', "admitted")
ORDER BY "SUM(cost)" DESC
LIMIT 10000;

-- superset_virtual_dataset: virtual_table with aggregates
-- keys: ward
SELECT "ward" AS "ward", SUM("n") AS "SUM(n)"
FROM (
  SELECT ward, sex, COUNT(*) AS n
  FROM visits
  GROUP BY ward, sex
) AS "virtual_table"
GROUP BY "ward"
ORDER BY "SUM(n)" DESC
LIMIT 1000;

-- superset_table_of_dataset: SELECT * of a grouped virtual_table
-- keys: diagnosis
SELECT *
FROM (
  SELECT diagnosis, AVG(age) AS mean_age, COUNT(*) AS visits
  FROM visits
  GROUP BY diagnosis
) AS virtual_table
LIMIT 1000;

-- superset_series_limit: top-N by a joined subquery
-- keys: __timestamp, diagnosis
SELECT
  DATE_TRUNC('year', "billed") AS "__timestamp",
  "diagnosis" AS "diagnosis",
  COUNT(*) AS "count"
FROM "main"."visits"
JOIN (
  SELECT "diagnosis" AS "diagnosis__", COUNT(*) AS "mme_inner__"
  FROM "main"."visits"
  GROUP BY "diagnosis"
  ORDER BY "mme_inner__" DESC
  LIMIT 3
) AS "series_limit" ON "diagnosis" = "diagnosis__"
GROUP BY DATE_TRUNC('year', "billed"), "diagnosis"
ORDER BY "count" DESC
LIMIT 10000;

-- superset_filter_box: DISTINCT values by GROUP BY
-- keys: zip
SELECT "zip" AS "zip"
FROM "main"."visits"
GROUP BY "zip"
ORDER BY "zip" ASC
LIMIT 1000;

-- superset_big_number: aggregates without groups
-- keys:
SELECT COUNT(DISTINCT "zip") AS "COUNT_DISTINCT(zip)", AVG("cost") AS "AVG(cost)"
FROM "main"."visits"
WHERE "sex" IN ('F') AND "age" >= 18
LIMIT 50000;

-- superset_custom_metric: custom ratio with SUM(CASE …)
-- keys: ward
SELECT
  "ward" AS "ward",
  SUM(CASE WHEN satisfied THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS "satisfied rate"
FROM "main"."visits"
WHERE "diagnosis" IN ('flu', 'asthma')
GROUP BY "ward"
ORDER BY "satisfied rate" DESC
LIMIT 1000;

-- metabase_count_by_month: CAST(DATE_TRUNC(…) AS DATE)
-- keys: admitted
SELECT
  CAST(DATE_TRUNC('month', "main"."visits"."admitted") AS DATE) AS "admitted",
  COUNT(*) AS "count"
FROM "main"."visits"
GROUP BY CAST(DATE_TRUNC('month', "main"."visits"."admitted") AS DATE)
ORDER BY CAST(DATE_TRUNC('month', "main"."visits"."admitted") AS DATE) ASC;

-- metabase_bins: FLOOR bins of a number
-- keys: age
SELECT
  FLOOR(("main"."visits"."age" / 10.0)) * 10.0 AS "age",
  COUNT(*) AS "count"
FROM "main"."visits"
GROUP BY FLOOR(("main"."visits"."age" / 10.0)) * 10.0
ORDER BY FLOOR(("main"."visits"."age" / 10.0)) * 10.0 ASC;

-- metabase_joined: LEFT JOIN with a qualified alias
-- keys: Wards__building
SELECT "Wards"."building" AS "Wards__building", SUM("main"."visits"."cost") AS "sum"
FROM "main"."visits"
LEFT JOIN "main"."wards" AS "Wards" ON "main"."visits"."ward" = "Wards"."ward"
GROUP BY "Wards"."building"
ORDER BY "sum" DESC, "Wards"."building" ASC;

-- metabase_share: share by countIf in a nested source
-- keys: diagnosis
SELECT
  "source"."diagnosis" AS "diagnosis",
  CAST(SUM(CASE WHEN "source"."age" >= 65 THEN 1 ELSE 0.0 END) AS DOUBLE)
    / NULLIF(COUNT(*), 0) AS "share"
FROM (
  SELECT
    "main"."visits"."diagnosis" AS "diagnosis",
    "main"."visits"."age" AS "age"
  FROM "main"."visits"
) AS "source"
GROUP BY "source"."diagnosis"
ORDER BY "source"."diagnosis" ASC;

-- metabase_post_aggregation_filter: filter on a grouped source
-- keys: zip
SELECT "source"."zip" AS "zip", "source"."count" AS "count"
FROM (
  SELECT "main"."visits"."zip" AS "zip", COUNT(*) AS "count"
  FROM "main"."visits"
  GROUP BY "main"."visits"."zip"
) AS "source"
WHERE "source"."count" > 150
LIMIT 2000;

-- metabase_cumulative: cumulative sum by a window over groups
-- keys: billed
SELECT
  CAST(DATE_TRUNC('year', "main"."visits"."billed") AS DATE) AS "billed",
  SUM(SUM("main"."visits"."cost")) OVER (
    ORDER BY CAST(DATE_TRUNC('year', "main"."visits"."billed") AS DATE) ASC
    ROWS UNBOUNDED PRECEDING
  ) AS "sum"
FROM "main"."visits"
GROUP BY CAST(DATE_TRUNC('year', "main"."visits"."billed") AS DATE)
ORDER BY CAST(DATE_TRUNC('year', "main"."visits"."billed") AS DATE) ASC;

-- metabase_field_values: DISTINCT for a filter box
-- keys: diagnosis
SELECT DISTINCT "main"."visits"."diagnosis" AS "diagnosis"
FROM "main"."visits"
ORDER BY "main"."visits"."diagnosis" ASC
LIMIT 1000;

-- looker_explore: positions, COALESCE(SUM()), FETCH
-- keys: visits.sex
SELECT
    visits."sex"  AS "visits.sex",
    COUNT(*) AS "visits.count",
    COALESCE(SUM(visits."cost"), 0) AS "visits.total_cost",
    AVG(visits."age" ) AS "visits.average_age"
FROM "main"."visits" AS visits
WHERE ((( visits."admitted" ) >= ((TIMESTAMP '2023-01-01')) AND ( visits."admitted" ) < ((TIMESTAMP '2024-01-01'))))
GROUP BY
    1
ORDER BY
    2 DESC
FETCH NEXT 500 ROWS ONLY;

-- looker_month_label: to text of a truncated moment
-- keys: visits.admitted_month
SELECT
    (strftime(DATE_TRUNC('month', visits."admitted" ), '%Y-%m')) AS "visits.admitted_month",
    COUNT(DISTINCT visits."zip" ) AS "visits.count_zips"
FROM "main"."visits" AS visits
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500;

-- looker_percent_of_total: percent of total by a window in a CTE
-- keys: visits.ward
WITH grouped AS (
  SELECT visits."ward" AS "visits.ward", COUNT(*) AS "visits.count"
  FROM "main"."visits" AS visits
  GROUP BY 1
)
SELECT
  "visits.ward",
  "visits.count",
  100.0 * "visits.count" / SUM("visits.count") OVER () AS "visits.percent_of_total"
FROM grouped
ORDER BY 2 DESC
LIMIT 5000;

-- looker_top_by_row_number: top-N by ROW_NUMBER in nested subqueries
-- keys: visits.ward, visits.diagnosis
SELECT * FROM (
SELECT *, ROW_NUMBER() OVER (PARTITION BY "visits.ward" ORDER BY "visits.count" DESC, "visits.diagnosis") AS z___rank
FROM (
SELECT
    visits."ward" AS "visits.ward",
    visits."diagnosis" AS "visits.diagnosis",
    COUNT(*) AS "visits.count"
FROM "main"."visits" AS visits
GROUP BY
    1,
    2) ww
) xx
WHERE z___rank <= 3
ORDER BY "visits.ward", z___rank;

-- tableau_bar: casts, quoted table alias, GROUP BY positions
-- keys: ward, sex
SELECT "visits"."ward" AS "ward",
  CAST("visits"."sex" AS TEXT) AS "sex",
  SUM(CAST("visits"."los" AS BIGINT)) AS "sum:los:ok",
  COUNT(DISTINCT "visits"."diagnosis") AS "ctd:diagnosis:ok"
FROM "main"."visits" "visits"
WHERE ("visits"."age" >= 20 AND "visits"."age" <= 65)
GROUP BY 1,
  2;

-- tableau_table_of_all: SUM(1), HAVING (COUNT(1) > 0)
-- keys:
SELECT AVG("visits"."los") AS "avg:los:ok",
  SUM(1) AS "cnt:visits:ok"
FROM "main"."visits" "visits"
HAVING (COUNT(1) > 0);
