-- value_shapes: what the values of a column look like, weighed by their records
-- reads   __rel__    one row per record        __col__   the column        $most   values looked at
-- gives   records looked at; those whose value stands for none, and the most frequent such text;
--         mean length and words; and the records whose value has each shape        one row
WITH counted AS (
  SELECT trim(CAST(__col__ AS VARCHAR)) AS value, count(*) AS n
  FROM __rel__
  WHERE __col__ IS NOT NULL
  GROUP BY 1
),
looked AS (
  SELECT
    value,
    n,
    lower(value) IN (
      '', '?', '-', '--', '.', 'na', 'n/a', '#n/a', 'n.a.', 'null', '(null)', 'nan', 'missing'
    ) AS placeholder
  FROM counted
  ORDER BY placeholder DESC, hash(value)
  LIMIT $most
),
present AS (
  SELECT
    value,
    n,
    regexp_replace(value, '[^0-9]', '', 'g') AS digits,
    regexp_full_match(value, '[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?') AS number,
    regexp_full_match(
      value,
      '(19|20)[0-9]{2}[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12][0-9]|3[01])'
      || '|(0?[1-9]|[12][0-9]|3[01])[-/.](0?[1-9]|[12][0-9]|3[01])[-/.]((19|20)[0-9]{2}|[0-9]{2})'
      || '|(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])'
      || '|([A-Za-z]{3,9}[.,]? )?(0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th)?[. -]{0,2}'
      || '[A-Za-z]{3,9}[., -]{0,2}((19|20)[0-9]{2}|[0-9]{2})'
      || '|([A-Za-z]{3,9}[.,]? )?[A-Za-z]{3,9}[.]? (0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th)?,? '
      || '(19|20)[0-9]{2}'
      -- finer than a year, too: months and weeks
      || '|(19|20)[0-9]{2}[-/](0[1-9]|1[0-2])|(0[1-9]|1[0-2])/(19|20)[0-9]{2}'
      || '|[A-Za-z]{3,9}[.]?[ -](19|20)[0-9]{2}|(19|20)[0-9]{2}-?[Ww][0-5][0-9](-?[1-7])?'
    ) AS day,
    regexp_full_match(value, '[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}[ T][0-9]{1,2}:[0-9]{2}.*')
      AS moment,
    regexp_full_match(value, '[0-9]{3}-[0-9]{2}-[0-9]{4}') AS ssn,
    regexp_full_match(value, '[0-9]{5}-[0-9]{4}') AS zip9,
    regexp_full_match(
      value,
      '((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(/[0-9]{1,2})?'
      || '|([0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}|([0-9A-Fa-f]{2}[-:]){5}[0-9A-Fa-f]{2}'
    ) AS ip
  FROM looked
  WHERE NOT placeholder
)
SELECT
  coalesce((SELECT sum(n) FROM looked WHERE placeholder), 0) AS missing,
  (SELECT arg_max(value, n) FROM looked WHERE placeholder) AS placeholder,
  coalesce(sum(n), 0) AS records,
  coalesce(sum(n * length(value)) / sum(n), 0) AS length,
  coalesce(sum(n * length(regexp_replace(value, '[^ ]+', '', 'g'))) / sum(n), 0) AS blanks,
  coalesce(sum(n) FILTER (number), 0) AS number,
  coalesce(sum(n) FILTER (day), 0) AS date,
  coalesce(sum(n) FILTER (moment), 0) AS timestamp,
  coalesce(sum(n) FILTER (ssn), 0) AS ssn,
  coalesce(sum(n) FILTER (ip), 0) AS ip,
  coalesce(
    sum(n) FILTER (regexp_full_match(value, '[^@ ]+@[^@ ]+[.][A-Za-z]{2,}')), 0
  ) AS mail,
  coalesce(
    sum(n) FILTER (regexp_full_match(value, '(https?|ftp)://[^ ]+|www[.][^ ]+[.][^ ]+')), 0
  ) AS url,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(value, '[+]?[0-9() ./-]{7,22}')
      AND length(digits) BETWEEN 7 AND 15
      AND length(digits) < length(value)
      AND NOT (number OR day OR ssn OR zip9 OR ip)
    ),
    0
  ) AS phone,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(
        value, '[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}'
      )
      OR regexp_full_match(value, '[0-9A-Fa-f]{32,}')
    ),
    0
  ) AS uuid,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(value, '[0-9]{3,5}') OR zip9 OR regexp_full_match(value, '[0-9]{9}')
    ),
    0
  ) AS zip,
  coalesce(sum(n) FILTER (regexp_full_match(value, '[0-9]{5}')), 0) AS zip5,
  coalesce(sum(n) FILTER (zip9), 0) AS zip9,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(value, '[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}')
      OR regexp_full_match(value, '[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]')
    ),
    0
  ) AS postcode,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(value, '[0-9]{1,3}([.][0-9]{1,2})?|V[0-9]{2}([.][0-9]{1,2})?')
      OR regexp_full_match(value, 'E[0-9]{3}([.][0-9])?')
      OR regexp_full_match(value, '[0-9]{4,5}|V[0-9]{3,4}|E[0-9]{4}')
    ),
    0
  ) AS icd9,
  coalesce(
    sum(n) FILTER (regexp_full_match(value, 'V[0-9]{2}([.]?[0-9]{1,2})?|E[0-9]{3}([.]?[0-9])?')), 0
  ) AS icd9_letter,
  coalesce(
    sum(n) FILTER (regexp_full_match(value, '[A-TV-Z][0-9][0-9A-Z]([.]?[0-9A-Z]{1,4})?')), 0
  ) AS icd10,
  count(DISTINCT left(value, 1)) FILTER (
    regexp_full_match(value, '[A-TV-Z][0-9][0-9A-Z]([.]?[0-9A-Z]{1,4})?')
  ) AS icd10_letters,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(
        value, '[\[(]?[0-9]{1,3} ?(-|–|,|to) ?[0-9]{1,3}[\])]?( ?(y|yr|yrs|years?)[.]?)?'
      )
      OR regexp_full_match(
        value, '(<|<=|>|>=|≥|≤)? ?[0-9]{1,3} ?[+]?( ?(y|yr|yrs|years?|years? old)[.]?)?'
      )
    ),
    0
  ) AS band,
  coalesce(
    sum(n) FILTER (
      regexp_full_match(value, '[\p{Lu}][\p{L}''’.-]*(,? [\p{Lu}][\p{L}''’.-]*){1,3}')
    ),
    0
  ) AS name
FROM present
