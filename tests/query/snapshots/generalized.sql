WITH "values_1" AS (
  SELECT
    released_value AS value,
    level,
    lower,
    upper,
    leaves,
    COUNT(*) OVER (PARTITION BY released_value) AS meanings
  FROM "release_dictionary"
  WHERE
    "column" = 'sex' AND NOT released_value IS NULL
  UNION ALL
  SELECT
    NULL AS value,
    NULL AS level,
    NULL AS lower,
    NULL AS upper,
    NULL AS leaves,
    1 AS meanings
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
        WHEN ARRAY_LENGTH("leaves") > 0
        THEN CAST("leaves" AS TEXT[])
        WHEN "level" = 0
        THEN [CAST("value" AS TEXT)]
        ELSE ERROR('a value of sex is released without the values it stands for')
      END AS leaves
    FROM "values_1"
  ) AS "listed"
), "share_1" AS (
  SELECT
    "spread"."value",
    "spread"."leaf" AS part_0,
    SUM("spread"."weight") / ANY_VALUE("spread"."size") AS share
  FROM "leaves_1" AS "spread"
  GROUP BY
    "spread"."value",
    "spread"."leaf"
), "values_2" AS (
  SELECT
    released_value AS value,
    level,
    lower,
    upper,
    leaves,
    COUNT(*) OVER (PARTITION BY released_value) AS meanings
  FROM "release_dictionary"
  WHERE
    "column" = 'age' AND NOT released_value IS NULL
  UNION ALL
  SELECT
    NULL AS value,
    NULL AS level,
    NULL AS lower,
    NULL AS upper,
    NULL AS leaves,
    1 AS meanings
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
        WHEN ARRAY_LENGTH("leaves") > 0
        THEN CAST("leaves" AS INT[])
        WHEN "level" = 0
        THEN [CAST("value" AS INT)]
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
      "level" > 0 AND COALESCE(ARRAY_LENGTH("leaves"), 0) = 0
    )
    AND GREATEST(CAST("lower" AS BIGINT), "cells"."low") < LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high")
), "share_2" AS (
  SELECT
    "spread"."value",
    SUM(CASE WHEN "spread"."leaf" < 25 THEN "spread"."weight" ELSE 0 END) / ANY_VALUE("spread"."size") AS share
  FROM "leaves_2" AS "spread"
  GROUP BY
    "spread"."value"
), "released" AS (
  SELECT
    "source"."sex" AS "value_1",
    "source"."age" AS "value_2",
    COUNT(*) AS records
  FROM "release" AS "source"
  GROUP BY
    "source"."sex",
    "source"."age"
)
SELECT
  "share_1"."part_0" AS "sex",
  CAST(COALESCE(
    SUM(
      "released"."records" * COALESCE("share_1"."share", ERROR('a value of sex is not in the dictionary')) * COALESCE("share_2"."share", ERROR('a value of age is not in the dictionary'))
    ),
    0
  ) AS DOUBLE) AS "n"
FROM "released" AS "released"
LEFT JOIN "share_1" AS "share_1"
  ON "released"."value_1" IS NOT DISTINCT FROM "share_1"."value"
LEFT JOIN "share_2" AS "share_2"
  ON "released"."value_2" IS NOT DISTINCT FROM "share_2"."value"
WHERE
  COALESCE("share_1"."share", ERROR('a value of sex is not in the dictionary')) > 0
  AND COALESCE("share_2"."share", ERROR('a value of age is not in the dictionary')) > 0
GROUP BY
  "share_1"."part_0"
