-- methods/counterfeit/risk: how probably a record of a class is a given person's, for whoever knows the method
-- reads   __members__   class_id, code, __value__: the records      __made__  the counterfeit ones
--         __groups__    class_id, grp: which classes could be padded, and what belongs together
-- gives   risk, the greatest of a class                                                one row
-- By its sensitive value alone a record is suspected as often as records of that are counterfeit. By
-- its other columns too, as often as those of them that are alike as often as it is in its group:
-- once, twice, or more. Counterfeit ones are copies, so that one alone is genuine; and where values
-- seldom repeat, of two alike one is a copy.
WITH records AS (
  SELECT class_id, code, __value__, 0 AS made
  FROM __members__
  UNION ALL
  SELECT class_id, code, __value__, 1 AS made
  FROM __made__
), compared AS (
  SELECT
    records.class_id,
    records.code,
    records.made,
    known.grp,
    count(*) OVER (PARTITION BY known.grp, records.code, records.__value__) AS alike
  FROM records
  JOIN __groups__ AS known
    ON known.class_id = records.class_id
), suspected AS (
  SELECT
    class_id,
    CASE WHEN alike = 1 THEN 1 ELSE 1 - avg(made) OVER (PARTITION BY grp, code) END AS genuine,
    1 - avg(made) OVER (PARTITION BY grp, code, least(alike, 3)) AS alike_genuine
  FROM compared
)
SELECT coalesce(max(risk), 0) AS risk
FROM (
  SELECT
    greatest(
      max(genuine) / sum(genuine),
      max(alike_genuine) / sum(alike_genuine)
    ) AS risk
  FROM suspected
  GROUP BY class_id
) AS classes
