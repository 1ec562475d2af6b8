-- profiling/value_shapes: what the values of columns look like, weighed by their records
-- reads   __rel__    values of some columns: place, value as text, n records, whether the value is a
--         placeholder, which stands for none, and how many records and values the column has
-- gives   place; its records and values; those of placeholders, and the most frequent of these; whether a value has each
--         shape; and of such values the records, their signs and blanks, and the letters they start with
--         one row a place and set of shapes
WITH present AS (
  SELECT
    place,
    value,
    n,
    placeholder,
    regexp_replace(value, '[^0-9]', '', 'g') AS digits,
    regexp_full_match(value, '[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?') AS number,
    regexp_full_match(
      value,
      '(19|20)[0-9]{2}[-/._ ](0?[1-9]|1[0-2])[-/._ ](0?[1-9]|[12][0-9]|3[01])'
      || '|(0?[1-9]|[12][0-9]|3[01])[-/._ ](0?[1-9]|[12][0-9]|3[01])[-/._ ]((19|20)[0-9]{2}|[0-9]{2})'
      || '|(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])'
      || '|(\p{L}{3,10}[.,]? )?(0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th|er|º|°)?[. -]{0,2}(de )?'
      || '\p{L}{3,10}[., -]{0,2}(de )?((19|20)[0-9]{2}|[0-9]{2})'
      || '|([A-Za-z]{3,9}[.,]? )?[A-Za-z]{3,9}[.]? (0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th)?,? '
      || '(19|20)[0-9]{2}'
      -- finer than a year, too: months and weeks
      || '|(19|20)[0-9]{2}[-/](0[1-9]|1[0-2])|(0[1-9]|1[0-2])/(19|20)[0-9]{2}'
      || '|\p{L}{3,10}[.]?( de)?[ -](19|20)[0-9]{2}|(19|20)[0-9]{2}-?[Ww][0-5][0-9](-?[1-7])?'
    ) AS day,
    regexp_full_match(value, '[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}[ T][0-9]{1,2}:[0-9]{2}.*')
      AS moment,
    regexp_full_match(value, '[0-9]{3}-[0-9]{2}-[0-9]{4}') AS ssn,
    regexp_full_match(value, '[0-9]{5}-[0-9]{4}') AS zip9,
    regexp_full_match(
      value,
      '[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]'
      || '|(NL-)?[1-9][0-9]{3} ?[A-Z]{2}|[0-9]{4}-[0-9]{3}|[0-9]{5}-[0-9]{3}|[0-9]{2}-[0-9]{3}'
      || '|(D|A|CH|F|I|B|E|L|FL|DE|AT|FR|IT|BE|ES|LU)[- ][0-9]{4,5}'
    ) AS postcode,
    -- of Italy, Spain, France, Germany, Britain, Brazil, Switzerland; and accounts (IBAN)
    regexp_full_match(
      value,
      '[A-Za-z]{6}[0-9]{2}[A-Za-z][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]'
      || '|[0-9]{8}[- ]?[A-HJ-NP-TV-Z]|[XYZ][- ]?[0-9]{7}[- ]?[A-HJ-NP-TV-Z]'
      || '|[12] ?[0-9]{2} ?(0[1-9]|1[0-2]|[2-9][0-9]) ?(2[AB]|[0-9]{2}) ?[0-9]{3} ?[0-9]{3}( ?[0-9]{2})?'
      || '|[A-Z][0-9]{9}|[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}'
      || '|[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]'
      || '|[0-9]{3}[.][0-9]{3}[.][0-9]{3}-[0-9]{2}|756[.][0-9]{4}[.][0-9]{4}[.][0-9]{2}'
      || '|[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?'
    ) AS national,
    regexp_full_match(
      value,
      '((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(/[0-9]{1,2})?'
      || '|([0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}|([0-9A-Fa-f]{2}[-:]){5}[0-9A-Fa-f]{2}'
    ) AS ip
  FROM __rel__
  WHERE NOT placeholder
),
columns AS (
  SELECT
    place,
    any_value(known) AS known,
    any_value(different) AS different,
    sum(n) FILTER (placeholder) AS missing,
    arg_max(value, n) FILTER (placeholder) AS placeholder,
    count(*) FILTER (placeholder) AS placeholders
  FROM __rel__
  GROUP BY place
),
shaped AS (
  SELECT
    place,
    value,
    n,
    [
      -- number
      number,
      -- date
      day,
      -- timestamp
      moment,
      -- ssn
      ssn,
      -- ip
      ip,
      -- mail
      regexp_full_match(value, '[^@ ]+@[^@ ]+[.][A-Za-z]{2,}'),
      -- url
      regexp_full_match(value, '(https?|ftp)://[^ ]+|www[.][^ ]+[.][^ ]+'),
      -- phone
      regexp_full_match(value, '[+]?[0-9() ./-]{7,22}')
      AND length(digits) BETWEEN 7 AND 15
      AND length(digits) < length(value)
      AND NOT (number OR day OR ssn OR zip9 OR ip OR postcode),
      -- uuid
      regexp_full_match(
        value, '[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}'
      )
      OR regexp_full_match(value, '[0-9A-Fa-f]{32,}'),
      -- zip
      regexp_full_match(value, '[0-9]{3,5}') OR zip9 OR regexp_full_match(value, '[0-9]{9}'),
      -- zip5
      regexp_full_match(value, '[0-9]{5}'),
      -- zip9
      zip9,
      -- postcode
      postcode,
      -- icd9
      regexp_full_match(value, '[0-9]{1,3}([.][0-9]{1,2})?|V[0-9]{2}([.][0-9]{1,2})?')
      OR regexp_full_match(value, 'E[0-9]{3}([.][0-9])?')
      OR regexp_full_match(value, '[0-9]{4,5}|V[0-9]{3,4}|E[0-9]{4}'),
      -- icd9_letter
      regexp_full_match(value, 'V[0-9]{2}([.]?[0-9]{1,2})?|E[0-9]{3}([.]?[0-9])?'),
      -- icd10
      regexp_full_match(value, '[A-TV-Z][0-9][0-9A-Z]([.]?[0-9A-Z]{1,4})?'),
      -- band
      regexp_full_match(
        value, '[\[(]?[0-9]{1,3} ?(-|–|,|to) ?[0-9]{1,3}[\])]?( ?(y|yr|yrs|years?)[.]?)?'
      )
      OR regexp_full_match(
        value, '(<|<=|>|>=|≥|≤)? ?[0-9]{1,3} ?[+]?( ?(y|yr|yrs|years?|years? old)[.]?)?'
      ),
      -- name
      regexp_full_match(
        value,
        '\p{Lu}[\p{L}''’.-]*(,? ((d[aeiou]s?|del|della|von|van|der|den|zu|ter|ten|la|le|y|e) )*'
        || '(d''|D''|O''|dell'')?\p{Lu}[\p{L}''’.-]*){1,4}'
      ),
      -- word
      regexp_full_match(value, '(\p{Lu}[''’])?\p{Lu}(\p{Ll}+|\p{Lu}{2,})([-''’ ]\p{Lu}\p{L}+)?'),
      -- street
      regexp_full_match(
        value,
        '(?i)([0-9]+[a-z]?,? (bis |ter )?)?(rue|avenue|av[.]|boulevard|bd|impasse|chemin|allée|allee'
        || '|quai|cours|route|calle|c/|avenida|avda[.]?|plaza|paseo|camino|carrer|ronda|callejón'
        || '|glorieta|pasaje|rambla|urbanización|cuesta|via|viale|piazza|corso|vicolo|strada|borgo|contrada|rotonda|incrocio'
        || '|rua|travessa|largo|praça|alameda|acesso|praceta|estrada|beco) [\p{L}0-9].*'
        || '|[\p{L} .-]*(stra(ss|ß)e|str[.]|weg|gasse|platz|allee|ring|ufer|damm|steig|straat|laan'
        || '|plein|gracht|kade|dijk|steeg|singel|dreef|baan|hof|pad)( ?[0-9]+ ?[a-z]?([-/][0-9]+)?)?'
        || '|([0-9]+[a-z]?,? )?[\p{L} .''-]+ (street|st|road|rd|avenue|ave|lane|ln|drive|dr|court|ct|boulevard|blvd'
        || '|way|close|terrace|square|place|crescent|gardens|grove|hill|highway|parkway)[.]?'
        || '(,? (apt|suite|unit)[.]? .*)?'
      ),
      -- national
      national,
      -- numbered
      regexp_full_match(
        value, '[A-Za-z]{1,6}[-_/. ]?([0-9]{2,4}[-/_.])?[0-9]{4,12}([-/][0-9]{1,2})?|0[0-9]{5,11}'
      ),
      -- four_digits
      regexp_full_match(value, '[0-9]{4}'),
      -- with_number
      regexp_full_match(value, '\p{Lu}\p{L}+( \p{L}+)? ?[0-9]{1,4} ?[a-z]?')
    ] AS shapes
  FROM present
)
SELECT
  columns.*,
  shapes,
  sum(n) AS records,
  sum(n * length(value)) AS signs,
  sum(n * length(regexp_replace(value, '[^ ]+', '', 'g'))) AS blanks,
  list_sort(list(DISTINCT left(value, 1))) AS letters
FROM columns
LEFT JOIN shaped USING (place)
GROUP BY ALL
