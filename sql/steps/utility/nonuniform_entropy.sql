-- utility/nonuniform_entropy: the bits of one quasi-identifier that its released values do not tell
-- reads   __source__   one row per record, in __col__ the code of its value
--         __values__   code, label: what each value is released as where it is not suppressed
--         __rel__      one row per released record, in __col__ its label
-- gives   lost, whole: bits lost, and those of `*` everywhere         one row
WITH coded AS (
  SELECT source.__col__ AS code, count(*) AS records
  FROM __source__ AS source
  GROUP BY source.__col__
), labelled AS (
  SELECT meant.label, coded.records
  FROM coded
  JOIN __values__ AS meant ON coded.code = meant.code
), groups AS (
  SELECT label, sum(records)::BIGINT AS records
  FROM labelled
  GROUP BY label
), released AS (
  SELECT CAST(rel.__col__ AS VARCHAR) AS label, count(*) AS records
  FROM __rel__ AS rel
  GROUP BY rel.__col__
), suppressed AS (
  SELECT groups.records, groups.records - coalesce(released.records, 0) AS lost
  FROM groups
  LEFT JOIN released ON groups.label IS NOT DISTINCT FROM released.label
), total AS (
  SELECT sum(records)::BIGINT AS records FROM groups
), generalized AS (
  SELECT labelled.records, groups.records AS inside
  FROM labelled
  JOIN groups ON labelled.label IS NOT DISTINCT FROM groups.label
)
-- added in one order, so that a sum is the same in every run
SELECT
  (
    SELECT sum(records * log2(inside / records) ORDER BY records, inside) FROM generalized
  ) + (
    SELECT sum(lost * log2(total.records / suppressed.records) ORDER BY suppressed.records, lost)
    FROM suppressed
    CROSS JOIN total
  ) AS lost,
  (
    SELECT sum(labelled.records * log2(total.records / labelled.records) ORDER BY labelled.records)
    FROM labelled
    CROSS JOIN total
  ) AS whole
