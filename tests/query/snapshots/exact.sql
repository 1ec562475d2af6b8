WITH "released" AS (
  SELECT
    "source"."job" AS "part_0",
    COUNT(*) AS records
  FROM "release" AS "source"
  WHERE
    "source"."job" LIKE 'S%'
  GROUP BY
    "source"."job"
)
SELECT
  "released"."part_0" AS "job",
  CAST(COALESCE(SUM("released"."records"), 0) AS DOUBLE) AS "n"
FROM "released" AS "released"
GROUP BY
  "released"."part_0"
ORDER BY
  CAST(COALESCE(SUM("released"."records"), 0) AS DOUBLE) ASC
