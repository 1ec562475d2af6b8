-- profiling/lookalikes: what values of columns hold, or look like, that leads to a person
-- reads   __rel__   values of some columns: place, value as text without blanks around, n records
-- gives   place; whether a value is or holds each of what stands below; and of such values how many there are, their
--         records, the least and greatest number, and the greatest that ends a text      one row a place and set
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
)
SELECT
  place,
  [
    -- a text
    number IS NULL,
    -- single
    regexp_full_match(
      value,
      '((van|de|der|den|het|ter|ten|te|von|zu|d[aeio]s?|del|la|le|el|''t) )*'
      || '(\p{Lu}[''’])?\p{Lu}\p{Ll}+((-|[''’])?\p{Lu}\p{Ll}+)?'
    ),
    -- full
    regexp_full_match(
      value,
      '\p{Lu}[\p{L}''’-]+,? ((d[aeiou]s?|del|della|von|van|der|den|zu|ter|ten|la|le|y|e) )*'
      || '\p{Lu}([.]|[\p{L}''’-]+)( \p{Lu}[.]?|,? \p{Lu}[\p{L}''’-]+){0,2}'
      || '|(Dra?|Mr|Mrs|Ms|Prof|Mme|Mlle|Sra?|Sig|Dott|Herr|Frau|Dhr|Mevr)[.]? .*|[a-z]+[._][a-z]+'
      || '|(\p{Lu}[.] ?)+((van|von|zu|de|den|der|het|ter|ten|te|d[aeio]s?|del|la|le) )*\p{Lu}[\p{L}''’-]+'
    ),
    -- initials
    regexp_full_match(value, '\p{Lu}[.]?\p{Lu}[.]?(\p{Lu}[.]?)?'),
    -- capitals
    regexp_full_match(value, '\p{Lu}{4,}([-'' ]\p{Lu}{2,})?'),
    -- whole
    is_whole,
    -- five_digits
    is_whole AND whole BETWEEN 10000 AND 99999,
    -- hundreds
    is_whole AND whole % 100 = 0,
    -- months
    is_whole AND whole BETWEEN 190001 AND 210012 AND whole % 100 BETWEEN 1 AND 12,
    -- days_of_years
    regexp_full_match(value, '(19|20)[0-9]{2}-?([0-2][0-9]{2}|3[0-5][0-9]|36[0-6])'),
    -- days_of_a_year
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
    ),
    -- dates
    regexp_matches(
      value,
      '(^|[^0-9])((19|20)[0-9]{2}[-/._][01]?[0-9]([-/._][0-3]?[0-9])?'
      || '|[0-3]?[0-9][-_][0-3]?[0-9][-_](19|20)?[0-9]{2}|[0-3]?[0-9]/[0-3]?[0-9]/(19|20)?[0-9]{2}'
      || '|[0-3]?[0-9][.][0-3]?[0-9][.](19|20)?[0-9]{2})([^0-9]|$)'
      || '|(?i)[0-3]?[0-9](st|nd|rd|th)?[. -]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)'
      || '[a-z]*[., -]*(19|20)?[0-9]{2}([^0-9]|$)'
    ),
    -- mails
    regexp_matches(value, '[^ ]@[^ ]+[.][A-Za-z]{2}'),
    -- addresses
    regexp_matches(value, '(?i)(https?|ftp)://|www[.]'),
    -- networks
    regexp_matches(value, '(^|[^0-9.])([0-9]{1,3}[.]){3}[0-9]{1,3}([^0-9.]|$)'),
    -- long_numbers
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
    ),
    -- births
    regexp_matches(
      value,
      '(?i)(^|[^\p{L}])(dob|d[.]o[.]b|born|birth ?date|date of birth|geb|geboren|geburtsdatum|née?|nato|nata'
      || '|nacid[oa]|nascid[oa]|geboortedatum|date de naissance)[.,:]{0,2}( on| am| le| il| el| em| op)?[ :]{0,2}'
      || '((19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-3]?[0-9][-/.] ?[01]?[0-9][-/.] ?(19|20)?[0-9]{2}'
      || '|[0-3]?[0-9](st|nd|rd|th)?[. ]{1,2}\p{L}{3,10}[., ]{1,2}(19|20)[0-9]{2})([^0-9]|$)'
    ),
    -- titled
    regexp_matches(
      value,
      '(^|[^\p{L}])((Dra?|Prof|Mr|Mrs|Ms|Herrn?|Frau|Mme|Mlle|Monsieur|Madame|Sra|Srta|Señora?'
      || '|Signora?|Dott|Dott[.]ssa|Dhr|Mevr|Mevrouw|Doutora?|Senhora?)[.]?|(Sr|Sig|Hr|Fr|Mw)[.])'
      || ' ?\p{Lu}[\p{L}''-]+'
    ),
    -- images
    regexp_full_match(value, '(?i).*[.](jpe?g|png|gif|tiff?|bmp|dcm|dicom|heic|webp|mp4|avi|wav)'),
    -- zips
    regexp_full_match(value, '[0-9]{3}([*xX]{2}|00)|0[0-9]{4}')
    OR regexp_matches(value, '(^|[ ,])[0-9]{5}(-[0-9]{4})?$'),
    -- months_of_years
    regexp_full_match(
      value,
      '(19|20)[0-9]{2}[-/.]?(0[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/.](19|20)[0-9]{2}'
      || '|\p{L}{3,10}[.]?( de)?[ -](19|20)[0-9]{2}|(19|20)[0-9]{2}'
    ),
    -- three_digits
    regexp_full_match(value, '[0-9]{3}'),
    -- leading_zeros
    regexp_full_match(value, '0[0-9]{2}'),
    -- spans
    regexp_full_match(
      value, '(?i)[\[(]?[0-9]{1,3} ?(-|–|,|to) ?[0-9]{1,3}[\])]?( ?(y|yr|yrs|years?)[.]?)?'
      || '|[<>≥≤=]* ?[0-9]{1,3} ?[+]?( ?(y|yrs?|years?|years? old|mos?|months?)[.]?)'
      || '|[<>≥≤=]+ ?[0-9]{1,3}|[0-9]{1,3} ?[+]'
    ),
    -- telephones
    regexp_full_match(value, '[+]?0{0,2}[1-9][0-9]{8,14}([.]0)?'),
    -- short_dates
    regexp_full_match(
      value,
      '[0-9]?[0-9](0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])'
      || '|(0?[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2])((19|20)?[0-9]{2})'
      || '|(0?[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])((19|20)?[0-9]{2})'
    )
  ] AS holds,
  count(*) AS looked_at,
  sum(n) AS records,
  min(number) FILTER (isfinite(number)) AS low,
  max(number) FILTER (isfinite(number)) AS high,
  max(try_cast(regexp_extract(value, '^[^0-9]*([0-9]{1,3} ?[-–,to]+ ?)?([0-9]{1,3})[^0-9]*$', 2)
    AS INTEGER)) FILTER (number IS NULL) AS last_number
FROM looked
GROUP BY ALL
