WITH "released" AS (
  SELECT
    CAST(1 AS DOUBLE) AS "weight",
    TRUE AS "sure",
    "source"."job" AS "part_0",
    COUNT(*) AS records,
    ROW_NUMBER() OVER () AS item
  FROM "release" AS "source"
  WHERE
    "source"."job" LIKE 'S%'
  GROUP BY
    "source"."job"
), "outcomes" AS (
  SELECT
    "released"."item" AS "item",
    "released"."part_0" AS "key_0",
    "released"."records" AS "records",
    "released"."weight" AS "weight",
    "released"."sure" AS "sure",
    1 AS "ways",
    1 AS "hits",
    CAST(1 AS DOUBLE) AS "mass",
    CAST(NULL AS DOUBLE) AS "total",
    CAST(NULL AS DOUBLE) AS "low",
    CAST(NULL AS DOUBLE) AS "high"
  FROM "released" AS "released"
), "items" AS (
  SELECT
    item,
    "key_0",
    records,
    weight,
    hits = ways AND sure AND weight = 1 AS certain,
    mass * weight AS mass,
    total * weight AS total,
    low,
    high
  FROM "outcomes"
), "counts" AS (
  SELECT
    "key_0",
    LEAST(GREATEST(mass, lower), upper) AS estimate,
    lower,
    upper,
    mass
  FROM (
    SELECT
      "key_0",
      CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) AS BIGINT) AS lower,
      CAST(SUM(records) AS BIGINT) AS upper,
      SUM(records * mass) AS mass
    FROM "items"
    GROUP BY
      "key_0"
  ) AS counted
)
SELECT
  "groups"."key_0" AS "job",
  CAST(COALESCE("groups"."estimate", CAST(0 AS DOUBLE)) AS DOUBLE) AS "n",
  CAST(COALESCE("groups"."lower", CAST(0 AS BIGINT)) AS BIGINT) AS "n_lower",
  CAST(COALESCE("groups"."upper", CAST(0 AS BIGINT)) AS BIGINT) AS "n_upper"
FROM "counts" AS "groups"
WHERE
  "groups"."mass" > 0
ORDER BY
  (
    CAST(COALESCE("groups"."estimate", CAST(0 AS DOUBLE)) AS DOUBLE)
  ) ASC,
  (
    "groups"."key_0"
  ) ASC
