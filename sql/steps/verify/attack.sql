-- verify/attack: what the catalog leaves certain, and how much risk, for who knows how it is made
-- reads   __counts__    one row per class and sensitive value: class, value, records
--         __told__      what the catalog tells: grp, class, value, records, candidate, counterfeits,
--                       total, suspected
--         $most         how many counterfeits a candidate can hold
-- gives   lemma_1: classes and values whose records cannot all be real; certain: the same where
--         only candidates can hold counterfeits; exhausted: values that are counterfeit in all
--         candidates; clean: classes of groups that are no candidates; risk: the largest prosecutor
--         risk; impossible: groups with more counterfeits than their candidates can hold   one row
WITH chances AS (
  SELECT
    counts.class,
    counts.records,
    CASE
      WHEN told.candidate THEN greatest(0, 1 - told.counterfeits / told.suspected)
      ELSE 1
    END AS chance
  FROM __counts__ AS counts
  LEFT JOIN __told__ AS told
    ON told.class = counts.class AND told.value IS NOT DISTINCT FROM counts.value
),
risks AS (
  SELECT CASE WHEN sum(records * chance) > 0 THEN max(chance) / sum(records * chance) ELSE 1 END AS risk
  FROM chances
  GROUP BY class
),
room AS (
  SELECT grp, count(DISTINCT class) FILTER (WHERE candidate) * $most AS most
  FROM __told__
  GROUP BY grp
),
claimed AS (
  SELECT grp, sum(counterfeits) AS counterfeits
  FROM (
    SELECT grp, value, any_value(counterfeits) AS counterfeits
    FROM __told__
    GROUP BY grp, value
  )
  GROUP BY grp
)
SELECT
  (SELECT count(*) FROM __told__ WHERE counterfeits > total - records) AS lemma_1,
  (
    SELECT count(*)
    FROM __told__
    WHERE candidate AND counterfeits > suspected - records
  ) AS certain,
  (
    SELECT count(*)
    FROM (
      SELECT grp, value
      FROM __told__
      WHERE counterfeits > 0 AND counterfeits >= suspected
      GROUP BY grp, value
    )
  ) AS exhausted,
  (SELECT count(DISTINCT class) FROM __told__ WHERE NOT candidate) AS clean,
  (SELECT max(risk) FROM risks) AS risk,
  (
    SELECT count(*)
    FROM claimed
    JOIN room
      ON room.grp = claimed.grp
    WHERE claimed.counterfeits > room.most
  ) AS impossible
