-- profiling/lookalikes: shares of the records of columns whose value holds, or looks like, what leads to a person
-- reads   __rel__   values of some columns: place, value as text without blanks around, n records
-- gives   place; values looked at; least and greatest number; and the shares of the records whose value
--         is or holds what the name of a column says, of words those of values      one row a place
WITH looked AS (
  SELECT
    place,
    value,
    n,
    try_cast(value AS DOUBLE) AS number,
    try_cast(try_cast(value AS DOUBLE) AS BIGINT) AS whole,
    try_cast(value AS DOUBLE) = try_cast(try_cast(value AS DOUBLE) AS BIGINT) AS is_whole
  FROM __rel__
  WHERE value NOT IN ('', '?', '-', '.')
),
-- how many of the values that are no numbers are one word or name; each counts once
words AS (
  SELECT
    place,
    count(*) AS texts,
    count(*) FILTER (
      regexp_full_match(
        value,
        '((van|de|der|den|het|ter|ten|te|von|zu|d[aeio]s?|del|la|le|el|''t) )*'
        || '(\p{Lu}[''’])?\p{Lu}\p{Ll}+((-|[''’])?\p{Lu}\p{Ll}+)?'
      )
    ) AS single,
    count(*) FILTER (
      regexp_full_match(
        value,
        '\p{Lu}[\p{L}''’-]+,? ((d[aeiou]s?|del|della|von|van|der|den|zu|ter|ten|la|le|y|e) )*'
        || '\p{Lu}([.]|[\p{L}''’-]+)( \p{Lu}[.]?|,? \p{Lu}[\p{L}''’-]+){0,2}'
        || '|(Dra?|Mr|Mrs|Ms|Prof|Mme|Mlle|Sra?|Sig|Dott|Herr|Frau|Dhr|Mevr)[.]? .*|[a-z]+[._][a-z]+'
        || '|(\p{Lu}[.] ?)+((van|von|zu|de|den|der|het|ter|ten|te|d[aeio]s?|del|la|le) )*\p{Lu}[\p{L}''’-]+'
      )
    ) AS full,
    count(*) FILTER (regexp_full_match(value, '\p{Lu}[.]?\p{Lu}[.]?(\p{Lu}[.]?)?')) AS initials,
    count(*) FILTER (regexp_full_match(value, '\p{Lu}{4,}([-'' ]\p{Lu}{2,})?')) AS capitals
  FROM looked
  WHERE number IS NULL
  GROUP BY place
)
SELECT
  place,
  count(*) AS looked_at,
  min(number) FILTER (isfinite(number)) AS low,
  max(number) FILTER (isfinite(number)) AS high,
  any_value(single) / any_value(texts) AS single_words,
  any_value(full) / any_value(texts) AS full_names,
  any_value(initials) / any_value(texts) AS initials,
  any_value(capitals) / any_value(texts) AS capitals,
  any_value(texts) AS texts,
  sum(n) FILTER (number IS NOT NULL) / sum(n) AS numbers,
  sum(n) FILTER (is_whole) / sum(n) AS whole,
  sum(n) FILTER (is_whole AND whole BETWEEN 10000 AND 99999) / sum(n) AS five_digits,
  sum(n) FILTER (is_whole AND whole % 100 = 0) / sum(n) AS hundreds,
  sum(n) FILTER (
    is_whole AND whole BETWEEN 190001 AND 210012 AND whole % 100 BETWEEN 1 AND 12
  ) / sum(n) AS months,
  sum(n) FILTER (
    regexp_full_match(value, '(19|20)[0-9]{2}-?([0-2][0-9]{2}|3[0-5][0-9]|36[0-6])')
  ) / sum(n) AS days_of_years,
  sum(n) FILTER (
    regexp_full_match(
      value,
      '(0?[1-9]|1[0-2])[-/.]?(0[1-9]|[12][0-9]|3[01])[.]?'
      || '|(0?[1-9]|[12][0-9]|3[01])[-/.](0[1-9]|1[0-2])[.]?'
      || '|(?i)([0-3]?[0-9](st|nd|rd|th)?[. -]*)?'
      || '(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?'
      || '|oct(ober)?|nov(ember)?|dec(ember)?'
      || '|j[aä]n(ner|uar|vier)?|februar|märz|mai|juni|juli|okt(ober)?|dez(ember)?'
      || '|f[eé]vrier|mars|avril|juin|juillet|ao[uû]t|septembre|octobre|novembre|d[eé]cembre'
      || '|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sept?iembre|octubre|noviembre|diciembre'
      || '|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|novembre|dicembre'
      || '|januari|februari|maart|mei|augustus|janeiro|fevereiro|março|maio|junho|julho|setembro'
      || '|outubro|novembro|dezembro)[. -]*([0-3]?[0-9](st|nd|rd|th)?)?'
      || '|(?i)(mon|tue(s)?|wed(nes)?|thu(r|rs)?|fri|sat(ur)?|sun)(day)?'
      || '|(?i)(mon|diens|donners|frei|sams|sonn)tag|(?i)mittwoch|(?i)(lun|mar|mercre|jeu|vendre|same)di'
      || '|(?i)dimanche|(?i)lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo'
    )
  ) / sum(n) AS days_of_a_year,
  sum(n) FILTER (
    regexp_matches(
      value,
      '(^|[^0-9])((19|20)[0-9]{2}[-/._][01]?[0-9]([-/._][0-3]?[0-9])?'
      || '|[0-3]?[0-9][-_][0-3]?[0-9][-_](19|20)?[0-9]{2}|[0-3]?[0-9]/[0-3]?[0-9]/(19|20)?[0-9]{2}'
      || '|[0-3]?[0-9][.][0-3]?[0-9][.](19|20)?[0-9]{2})([^0-9]|$)'
      || '|(?i)[0-3]?[0-9](st|nd|rd|th)?[. -]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)'
      || '[a-z]*[., -]*(19|20)?[0-9]{2}([^0-9]|$)'
    )
  ) / sum(n) AS dates,
  sum(n) FILTER (regexp_matches(value, '[^ ]@[^ ]+[.][A-Za-z]{2}')) / sum(n) AS mails,
  sum(n) FILTER (regexp_matches(value, '(?i)(https?|ftp)://|www[.]')) / sum(n) AS addresses,
  sum(n) FILTER (
    regexp_matches(value, '(^|[^0-9.])([0-9]{1,3}[.]){3}[0-9]{1,3}([^0-9.]|$)')
  ) / sum(n) AS networks,
  sum(n) FILTER (
    number IS NULL
    AND (
      regexp_matches(value, '(^|[^0-9])[0-9]{3}-[0-9]{2}-[0-9]{4}([^0-9]|$)')
      OR regexp_matches(value, '[0-9]{3}[-. )]{1,2}[0-9]{3,4}[-. ][0-9]{3,4}')
      OR regexp_matches(value, '[0-9]{3}-[0-9]{4}($|[^0-9])')
      OR regexp_matches(value, '[0-9]{7,}')
      OR regexp_matches(
        value, '(^|[^0-9A-Za-z])([+]|00|[(]?0)[0-9]([ ()/.-]{0,3}[0-9]){8,13}([^0-9]|$)'
      )
      -- a short number behind the code of an area, or where words say that it is called
      OR regexp_matches(value, '(^|[^0-9A-Za-z.,])[(]?0[1-9][0-9]{1,3}[)]?[ /-]{1,3}[0-9]{4,8}([^0-9]|$)')
      OR regexp_matches(
        value,
        '(?i)(^|[^\p{L}])(tel|tele?fon[oe]?|telefoon|telephone|phone|tél|téléphone|teléfono|tlf'
        || '|mob|mobil|mobile|móvil|handy|natel|gsm|cellulare|celular|telemóvel|portable|fax|rufnummer)'
        || '([.]?[ -]?(no|nr|num|number|nummer|numero|núm))?[ .:=-]{0,4}[+(]{0,2}[0-9]([ ()/.-]{0,3}[0-9]){4}'
      )
      OR regexp_matches(
        value, '(?i)[0-9]([ /-]?[0-9]){4,} (erreichbar|zu erreichen|anrufen|joignable|bereikbaar|bellen)'
      )
    )
  ) / sum(n) AS long_numbers,
  sum(n) FILTER (
    regexp_matches(
      value,
      '(?i)(^|[^\p{L}])(dob|d[.]o[.]b|born|birth ?date|date of birth|geb|geboren|geburtsdatum|née?|nato|nata'
      || '|nacid[oa]|nascid[oa]|geboortedatum|date de naissance)[.,:]{0,2}( on| am| le| il| el| em| op)?[ :]{0,2}'
      || '((19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-3]?[0-9][-/.] ?[01]?[0-9][-/.] ?(19|20)?[0-9]{2}'
      || '|[0-3]?[0-9](st|nd|rd|th)?[. ]{1,2}\p{L}{3,10}[., ]{1,2}(19|20)[0-9]{2})([^0-9]|$)'
    )
  ) / sum(n) AS births,
  sum(n) FILTER (
    regexp_matches(
      value,
      '(^|[^\p{L}])((Dra?|Prof|Mr|Mrs|Ms|Herrn?|Frau|Mme|Mlle|Monsieur|Madame|Sra|Srta|Señora?'
      || '|Signora?|Dott|Dott[.]ssa|Dhr|Mevr|Mevrouw|Doutora?|Senhora?)[.]?|(Sr|Sig|Hr|Fr|Mw)[.])'
      || ' ?\p{Lu}[\p{L}''-]+'
    )
  ) / sum(n) AS titled,
  sum(n) FILTER (
    regexp_full_match(value, '(?i).*[.](jpe?g|png|gif|tiff?|bmp|dcm|dicom|heic|webp|mp4|avi|wav)')
  ) / sum(n) AS images,
  sum(n) FILTER (
    regexp_full_match(value, '[0-9]{3}([*xX]{2}|00)|0[0-9]{4}')
    OR regexp_matches(value, '(^|[ ,])[0-9]{5}(-[0-9]{4})?$')
  ) / sum(n) AS zips,
  sum(n) FILTER (
    regexp_full_match(
      value,
      '(19|20)[0-9]{2}[-/.]?(0[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/.](19|20)[0-9]{2}'
      || '|\p{L}{3,10}[.]?( de)?[ -](19|20)[0-9]{2}|(19|20)[0-9]{2}'
    )
  ) / sum(n) AS months_of_years,
  sum(n) FILTER (regexp_full_match(value, '[0-9]{3}')) / sum(n) AS three_digits,
  sum(n) FILTER (regexp_full_match(value, '0[0-9]{2}')) / sum(n) AS leading_zeros,
  sum(n) FILTER (
    regexp_full_match(
      value, '(?i)[\[(]?[0-9]{1,3} ?(-|–|,|to) ?[0-9]{1,3}[\])]?( ?(y|yr|yrs|years?)[.]?)?'
      || '|[<>≥≤=]* ?[0-9]{1,3} ?[+]?( ?(y|yrs?|years?|years? old|mos?|months?)[.]?)'
      || '|[<>≥≤=]+ ?[0-9]{1,3}|[0-9]{1,3} ?[+]'
    )
  ) / sum(n) AS spans,
  max(try_cast(regexp_extract(value, '^[^0-9]*([0-9]{1,3} ?[-–,to]+ ?)?([0-9]{1,3})[^0-9]*$', 2)
    AS INTEGER)) FILTER (number IS NULL) AS last_number,
  sum(n) FILTER (regexp_full_match(value, '[+]?0{0,2}[1-9][0-9]{8,14}([.]0)?')) / sum(n) AS telephones,
  sum(n) FILTER (
    regexp_full_match(
      value,
      '[0-9]?[0-9](0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])'
      || '|(0?[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2])((19|20)?[0-9]{2})'
      || '|(0?[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])((19|20)?[0-9]{2})'
    )
  ) / sum(n) AS short_dates
FROM looked
LEFT JOIN words USING (place)
GROUP BY place
