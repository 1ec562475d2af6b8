-- methods/counterfeit/uniform: the places of counterfeit records, each with any sensitive value of the source
-- reads   __deficits__   class_id, missing: what classes lack
--         __members__    code: the records and their sensitive value
--         __secret__     key: one row, what all draws depend on
-- gives   place, class_id, code                    one row for each record to be made
-- Lee, Kim & Chung (2017) draw so; every value is as likely as any other.
WITH places AS (
  SELECT
    row_number() OVER (ORDER BY class_id, slot) AS place,
    class_id,
    hash(sha256(concat_ws('|', key, 'uniform', class_id, slot))) AS draw
  FROM (
    SELECT class_id, unnest(range(missing)) AS slot
    FROM __deficits__
  ) AS lacking
  CROSS JOIN __secret__
), codes AS (
  SELECT
    code,
    row_number() OVER (ORDER BY code) - 1 AS number,
    count(*) OVER () AS total
  FROM __members__
  GROUP BY code
)
SELECT
  places.place,
  places.class_id,
  codes.code
FROM places
JOIN codes
  ON codes.number = places.draw % codes.total
