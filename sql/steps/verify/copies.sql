-- verify/copies: how much risk is left where counterfeits are copies of other columns too
-- reads   __records__   one row per record: class, value, __other__ columns
--         __members__   grp, class, candidate: the groups of the catalog
--         __told__      class, value, counterfeits, suspected: what the catalog tells of them
-- gives   risk: the largest of a candidate, where a record that no other one of its group's
--         candidates is like must be genuine                                           one row
WITH suspected AS (
  SELECT
    records.class,
    records.value,
    count(*) OVER (PARTITION BY members.grp, records.value, __other__) AS alike
  FROM __records__ AS records
  JOIN __members__ AS members
    ON members.class = records.class
  WHERE members.candidate
), chances AS (
  SELECT
    suspected.class,
    CASE
      WHEN suspected.alike = 1 OR told.class IS NULL THEN 1
      ELSE greatest(0, 1 - told.counterfeits / told.suspected)
    END AS chance
  FROM suspected
  LEFT JOIN __told__ AS told
    ON told.class = suspected.class AND told.value IS NOT DISTINCT FROM suspected.value
)
SELECT coalesce(max(risk), 0) AS risk
FROM (
  SELECT CASE WHEN sum(chance) > 0 THEN max(chance) / sum(chance) ELSE 1 END AS risk
  FROM chances
  GROUP BY class
) AS classes
