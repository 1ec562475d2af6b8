WITH "released" AS (
  SELECT
    "source"."sex" AS "value_1",
    "source"."age" AS "value_2",
    COUNT(*) AS "records"
  FROM "release" AS "source"
  GROUP BY
    "source"."sex",
    "source"."age"
), "values_1" AS (
  SELECT
    v.value,
    d.level,
    d.lower,
    d.upper,
    d.leaves,
    d.meanings
  FROM (
    SELECT DISTINCT
      "value_1" AS value
    FROM "released"
  ) AS v
  LEFT JOIN (
    SELECT
      released_value,
      level,
      lower,
      upper,
      leaves,
      COUNT(*) OVER (PARTITION BY released_value) AS meanings
    FROM "release_dictionary"
    WHERE
      "column" = 'sex'
  ) AS d
    ON d.released_value = v.value
), "leaves_1" AS (
  SELECT
    "listed"."value",
    UNNEST("listed"."leaves") AS leaf,
    CAST(1 AS DOUBLE) AS weight,
    ARRAY_LENGTH("listed"."leaves") AS size
  FROM (
    SELECT
      "value",
      CASE
        WHEN "value" IS NULL
        THEN [CAST(NULL AS TEXT)]
        WHEN "meanings" > 1
        THEN ERROR('a value of sex has two meanings in the dictionary')
        WHEN "level" = 0
        THEN [CAST("value" AS TEXT)]
        WHEN ARRAY_LENGTH("leaves") > 0
        THEN CAST("leaves" AS TEXT[])
        ELSE ERROR('a value of sex is released without the values it stands for')
      END AS leaves
    FROM "values_1"
  ) AS "listed"
), "share_1" AS (
  SELECT
    "spread"."value",
    "spread"."leaf" AS "part_0",
    SUM("spread"."weight") / ANY_VALUE("spread"."size") AS "share"
  FROM "leaves_1" AS "spread"
  GROUP BY
    "spread"."value",
    "spread"."leaf"
), "values_2" AS (
  SELECT
    v.value,
    d.level,
    d.lower,
    d.upper,
    d.leaves,
    d.meanings
  FROM (
    SELECT DISTINCT
      "value_2" AS value
    FROM "released"
  ) AS v
  LEFT JOIN (
    SELECT
      released_value,
      level,
      lower,
      upper,
      leaves,
      COUNT(*) OVER (PARTITION BY released_value) AS meanings
    FROM "release_dictionary"
    WHERE
      "column" = 'age'
  ) AS d
    ON d.released_value = v.value
), "leaves_2" AS (
  SELECT
    "listed"."value",
    UNNEST("listed"."leaves") AS leaf,
    CAST(1 AS DOUBLE) AS weight,
    ARRAY_LENGTH("listed"."leaves") AS size
  FROM (
    SELECT
      "value",
      CASE
        WHEN "value" IS NULL
        THEN [CAST(NULL AS INT)]
        WHEN "meanings" > 1
        THEN ERROR('a value of age has two meanings in the dictionary')
        WHEN "level" = 0
        THEN [CAST("value" AS INT)]
        WHEN ARRAY_LENGTH("leaves") > 0
        THEN CAST("leaves" AS INT[])
        WHEN CAST("lower" AS BIGINT) < (
          CAST("upper" AS BIGINT) + 1
        )
        THEN CAST([] AS INT[])
        ELSE ERROR('a value of age is released without the values it stands for')
      END AS leaves
    FROM "values_2"
  ) AS "listed"
  UNION ALL
  SELECT
    "value",
    CAST(GREATEST(CAST("lower" AS BIGINT), "cells"."low") AS INT) AS leaf,
    CAST(LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high") - GREATEST(CAST("lower" AS BIGINT), "cells"."low") AS DOUBLE) AS weight,
    (
      CAST("upper" AS BIGINT) + 1
    ) - CAST("lower" AS BIGINT) AS size
  FROM "values_2"
  CROSS JOIN (
    SELECT
      CAST(NULL AS BIGINT) AS low,
      CAST(25 AS BIGINT) AS high
    UNION ALL
    SELECT
      CAST(25 AS BIGINT) AS low,
      CAST(26 AS BIGINT) AS high
    UNION ALL
    SELECT
      CAST(26 AS BIGINT) AS low,
      CAST(NULL AS BIGINT) AS high
  ) AS "cells"
  WHERE
    (
      (
        "level" > 0 AND COALESCE(ARRAY_LENGTH("leaves"), 0) = 0
      )
      AND CAST("lower" AS BIGINT) < (
        CAST("upper" AS BIGINT) + 1
      )
    )
    AND GREATEST(CAST("lower" AS BIGINT), "cells"."low") < LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high")
), "share_2" AS (
  SELECT
    "spread"."value",
    SUM("spread"."weight") / ANY_VALUE("spread"."size") AS "share"
  FROM "leaves_2" AS "spread"
  WHERE
    "spread"."leaf" < 25
  GROUP BY
    "spread"."value"
)
SELECT
  "share_1"."part_0" AS "sex",
  CAST(COALESCE(SUM("released"."records" * "share_1"."share" * "share_2"."share"), 0) AS DOUBLE) AS "n"
FROM "released" AS "released"
JOIN "share_1" AS "share_1"
  ON "released"."value_1" IS NOT DISTINCT FROM "share_1"."value"
JOIN "share_2" AS "share_2"
  ON "released"."value_2" IS NOT DISTINCT FROM "share_2"."value"
GROUP BY
  "share_1"."part_0"
