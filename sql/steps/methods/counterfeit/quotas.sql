-- methods/counterfeit/quotas: how many counterfeit records of each sensitive value a group of classes gets
-- reads   __members__    class_id, code: the records and their sensitive value
--         __deficits__   class_id, missing, grp: what classes lack
-- gives   grp, code, records, quota                one row for each value of a group
-- Quotas are in proportion to the real records; what rounding leaves goes to the largest remainders.
WITH pool AS (
  SELECT
    lacking.grp,
    members.code,
    count(*) AS records
  FROM __members__ AS members
  JOIN __deficits__ AS lacking
    ON lacking.class_id = members.class_id
  WHERE lacking.grp IS NOT NULL
  GROUP BY lacking.grp, members.code
), shares AS (
  SELECT
    pool.*,
    needed.total,
    pool.records * needed.total AS product,
    sum(pool.records) OVER (PARTITION BY pool.grp) AS whole
  FROM pool
  JOIN (
    SELECT grp, sum(missing) AS total
    FROM __deficits__
    GROUP BY grp
  ) AS needed
    ON needed.grp = pool.grp
), ranked AS (
  SELECT
    *,
    product // whole AS rounded,
    row_number() OVER (
      PARTITION BY grp
      ORDER BY product % whole DESC, records DESC, code
    ) AS place
  FROM shares
)
SELECT
  grp,
  code,
  records,
  CAST(
    rounded + CASE WHEN place <= total - sum(rounded) OVER (PARTITION BY grp) THEN 1 ELSE 0 END
    AS BIGINT
  ) AS quota
FROM ranked
