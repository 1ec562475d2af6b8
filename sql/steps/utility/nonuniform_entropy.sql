-- utility/nonuniform_entropy: the bits of one quasi-identifier that its released values do not tell
-- reads   __source__   value, its code, and records, how many have it; codes may repeat
--         __values__   code, label: what each value is released as where it is not suppressed
--         __rel__      value, a label, and records, how many are released with it; labels may repeat
-- gives   lost, whole: bits lost, and those of `*` everywhere         one row
WITH coded AS (
  SELECT source.value AS code, sum(source.records)::BIGINT AS records
  FROM __source__ AS source
  GROUP BY source.value
), labelled AS (
  SELECT meant.label, coded.records
  FROM coded
  JOIN __values__ AS meant ON coded.code = meant.code
), groups AS (
  SELECT label, sum(records)::BIGINT AS records
  FROM labelled
  GROUP BY label
), released AS (
  SELECT CAST(rel.value AS VARCHAR) AS label, sum(rel.records)::BIGINT AS records
  FROM __rel__ AS rel
  GROUP BY rel.value
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
