WITH "values" AS (
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
), "leaves" AS (
  SELECT
    "points"."value",
    "points"."leaf",
    "points"."leaf" AS low,
    "points"."leaf" AS high,
    "points"."weight",
    "points"."size"
  FROM (
    SELECT
      "listed"."value",
      UNNEST("listed"."leaves") AS leaf,
      CAST(1 AS DOUBLE) AS weight,
      CAST(ARRAY_LENGTH("listed"."leaves") AS DOUBLE) AS size
    FROM (
      SELECT
        "value",
        CASE
          WHEN "value" IS NULL
          THEN [CAST(NULL AS TEXT)]
          WHEN "meanings" > 1
          THEN CAST(ERROR('a value of sex has two meanings in the dictionary') AS TEXT[])
          WHEN ARRAY_LENGTH("leaves") > 0
          THEN CAST("leaves" AS TEXT[])
          WHEN "level" = 0
          THEN [CAST("value" AS TEXT)]
          ELSE CAST(ERROR('a value of sex is released without the values it stands for') AS TEXT[])
        END AS leaves
      FROM "values"
    ) AS "listed"
  ) AS "points"
  UNION ALL
  SELECT
    "value",
    CAST(NULL AS TEXT) AS leaf,
    CAST(NULL AS TEXT) AS low,
    CAST(NULL AS TEXT) AS high,
    CAST(0 AS DOUBLE) AS weight,
    CAST(1 AS DOUBLE) AS size
  FROM "values"
  WHERE
    "value" = '*' AND "level" > 0
), "share" AS (
  SELECT
    "masses"."value",
    "masses"."passes",
    "masses"."part_0",
    CASE
      WHEN "masses"."mass" = 0
      THEN CAST(0 AS DOUBLE)
      WHEN COUNT(CASE WHEN "masses"."mass" > 0 THEN 1 END) OVER (PARTITION BY "masses"."value") = 1
      THEN CAST(1 AS DOUBLE)
      WHEN MAX("masses"."size") OVER (PARTITION BY "masses"."value") = CAST('Infinity' AS DOUBLE)
      THEN CAST(NULL AS DOUBLE)
      ELSE "masses"."mass" / MAX("masses"."size") OVER (PARTITION BY "masses"."value")
    END AS share,
    COUNT(*) OVER (PARTITION BY "masses"."value") AS ways
  FROM (
    SELECT
      "spread"."value" AS "value",
      TRUE AS "passes",
      "spread"."leaf" AS "part_0",
      SUM("spread"."weight") AS "mass",
      MAX(CASE WHEN "spread"."weight" > 0 THEN "spread"."size" END) AS "size"
    FROM "leaves" AS "spread"
    GROUP BY
      "spread"."value",
      "spread"."leaf"
  ) AS "masses"
), "values_of_2" AS (
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
), "leaves_of_2" AS (
  SELECT
    "points"."value",
    "points"."leaf",
    "points"."leaf" AS low,
    "points"."leaf" AS high,
    "points"."weight",
    "points"."size"
  FROM (
    SELECT
      "listed"."value",
      UNNEST("listed"."leaves") AS leaf,
      CAST(1 AS DOUBLE) AS weight,
      CAST(ARRAY_LENGTH("listed"."leaves") AS DOUBLE) AS size
    FROM (
      SELECT
        "value",
        CASE
          WHEN "value" IS NULL
          THEN [CAST(NULL AS INT)]
          WHEN "meanings" > 1
          THEN CAST(ERROR('a value of age has two meanings in the dictionary') AS INT[])
          WHEN ARRAY_LENGTH("leaves") > 0
          THEN CAST("leaves" AS INT[])
          WHEN "level" = 0
          THEN [CAST("value" AS INT)]
          WHEN NOT "lower" IS NULL OR NOT "upper" IS NULL
          THEN CAST([] AS INT[])
          ELSE CAST(ERROR('a value of age is released without the values it stands for') AS INT[])
        END AS leaves
      FROM "values_of_2"
    ) AS "listed"
  ) AS "points"
  UNION ALL
  SELECT
    "value",
    CAST(NULL AS INT) AS leaf,
    CAST(NULL AS INT) AS low,
    CAST(NULL AS INT) AS high,
    CAST(0 AS DOUBLE) AS weight,
    CAST(1 AS DOUBLE) AS size
  FROM "values_of_2"
  WHERE
    "value" = '*' AND "level" > 0
  UNION ALL
  SELECT
    "value",
    CAST(COALESCE(
      GREATEST(CAST("lower" AS BIGINT), "cells"."low"),
      LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high") - 1
    ) AS INT) AS leaf,
    CAST(GREATEST(CAST("lower" AS BIGINT), "cells"."low") AS INT) AS low,
    CAST(LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high") - 1 AS INT) AS high,
    COALESCE(
      CAST((
        LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high") - GREATEST(CAST("lower" AS BIGINT), "cells"."low")
      ) AS DOUBLE),
      CAST('Infinity' AS DOUBLE)
    ) AS weight,
    COALESCE(
      CAST((
        (
          CAST("upper" AS BIGINT) + 1
        ) - CAST("lower" AS BIGINT)
      ) AS DOUBLE),
      CAST('Infinity' AS DOUBLE)
    ) AS size
  FROM "values_of_2"
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
      AND (
        NOT "lower" IS NULL OR NOT "upper" IS NULL
      )
    )
    AND COALESCE(
      GREATEST(CAST("lower" AS BIGINT), "cells"."low") < LEAST(CAST("upper" AS BIGINT) + 1, "cells"."high"),
      TRUE
    )
), "share_of_2" AS (
  SELECT
    "masses"."value",
    "masses"."passes",
    CASE
      WHEN "masses"."mass" = 0
      THEN CAST(0 AS DOUBLE)
      WHEN COUNT(CASE WHEN "masses"."mass" > 0 THEN 1 END) OVER (PARTITION BY "masses"."value") = 1
      THEN CAST(1 AS DOUBLE)
      WHEN MAX("masses"."size") OVER (PARTITION BY "masses"."value") = CAST('Infinity' AS DOUBLE)
      THEN CAST(NULL AS DOUBLE)
      ELSE "masses"."mass" / MAX("masses"."size") OVER (PARTITION BY "masses"."value")
    END AS share,
    COUNT(*) OVER (PARTITION BY "masses"."value") AS ways
  FROM (
    SELECT
      "spread"."value" AS "value",
      COALESCE((
        "spread"."leaf" < 25
      ), FALSE) AS "passes",
      SUM("spread"."weight") AS "mass",
      MAX(CASE WHEN "spread"."weight" > 0 THEN "spread"."size" END) AS "size"
    FROM "leaves_of_2" AS "spread"
    GROUP BY
      "spread"."value",
      COALESCE((
        "spread"."leaf" < 25
      ), FALSE)
  ) AS "masses"
), "grouped" AS (
  SELECT
    "source"."sex" AS "value_1",
    "source"."age" AS "value_2",
    COUNT(*) AS records
  FROM "release" AS "source"
  GROUP BY
    "source"."sex",
    "source"."age"
), "released" AS (
  SELECT
    CAST(COALESCE(
      "share_2"."share",
      CAST(ERROR('a value of age has an open end on which the query depends') AS DOUBLE)
    ) AS DOUBLE) AS "weight",
    "share_2"."ways" = 1 AS "sure",
    "grouped"."value_1" AS "value_1",
    SUM("grouped"."records") AS records,
    ROW_NUMBER() OVER () AS item
  FROM "grouped" AS "grouped"
  LEFT JOIN "share_of_2" AS "share_2"
    ON "grouped"."value_2" IS NOT DISTINCT FROM "share_2"."value"
  WHERE
    COALESCE(
      "share_2"."passes",
      CAST(ERROR('a value of age is not in the dictionary') AS BOOLEAN)
    )
  GROUP BY
    "grouped"."value_1",
    CAST(COALESCE(
      "share_2"."share",
      CAST(ERROR('a value of age has an open end on which the query depends') AS DOUBLE)
    ) AS DOUBLE),
    "share_2"."ways" = 1
), "outcomes" AS (
  SELECT
    "released"."item" AS "item",
    "share_1"."part_0" AS "key_0",
    "released"."records" AS "records",
    "released"."weight" AS "weight",
    "released"."sure" AS "sure",
    "share_1"."ways" AS "ways",
    1 AS "hits",
    COALESCE(
      "share_1"."share",
      CAST(ERROR('a value of sex has an open end on which the query depends') AS DOUBLE)
    ) AS "mass",
    CAST(NULL AS DOUBLE) AS "total",
    CAST(NULL AS DOUBLE) AS "low",
    CAST(NULL AS DOUBLE) AS "high"
  FROM "released" AS "released"
  LEFT JOIN "share" AS "share_1"
    ON "released"."value_1" IS NOT DISTINCT FROM "share_1"."value"
  WHERE
    COALESCE(
      "share_1"."passes",
      CAST(ERROR('a value of sex is not in the dictionary') AS BOOLEAN)
    )
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
  "groups"."key_0" AS "sex",
  CAST(COALESCE("groups"."estimate", CAST(0 AS DOUBLE)) AS DOUBLE) AS "n",
  CAST(COALESCE("groups"."lower", CAST(0 AS BIGINT)) AS BIGINT) AS "n_lower",
  CAST(COALESCE("groups"."upper", CAST(0 AS BIGINT)) AS BIGINT) AS "n_upper"
FROM "counts" AS "groups"
WHERE
  "groups"."mass" > 0
