-- methods/counterfeit/slots: the places of counterfeit records, and the sensitive value drawn for each
-- reads   __deficits__   class_id, missing, grp: what classes lack
--         __quotas__     grp, code, quota: how many records of each value a group gets
--         __secret__     key: one row, what all draws depend on
-- gives   place, class_id, code                    one row for each record to be made
-- Places and drawn values of a group are each put into an order that only the key tells.
WITH places AS (
  SELECT
    grp,
    class_id,
    row_number() OVER (
      PARTITION BY grp
      ORDER BY sha256(concat_ws('|', key, 'place', class_id, slot)), class_id, slot
    ) AS number
  FROM (
    SELECT grp, class_id, unnest(range(missing)) AS slot
    FROM __deficits__
  ) AS lacking
  CROSS JOIN __secret__
), drawn AS (
  SELECT
    grp,
    code,
    row_number() OVER (
      PARTITION BY grp
      ORDER BY sha256(concat_ws('|', key, 'value', code, copy)), code, copy
    ) AS number
  FROM (
    SELECT grp, code, unnest(range(quota)) AS copy
    FROM __quotas__
  ) AS values_
  CROSS JOIN __secret__
)
SELECT
  row_number() OVER (ORDER BY places.class_id, places.number) AS place,
  places.class_id,
  drawn.code
FROM places
JOIN drawn
  ON drawn.grp = places.grp
  AND drawn.number = places.number
