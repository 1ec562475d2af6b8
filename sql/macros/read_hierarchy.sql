-- read_hierarchy: a hierarchy file as ARX and anjana write it, in the form of deid.hierarchies
-- reads   file     headerless CSV (also .gz), one row a leaf, column i its label at level i
--         name     of the hierarchy, as a rule that of its column
--         delim    ';', tab or ','; NULL: the first of these in the first line outside quotes
--         release  whose hierarchy it is; '' for one loaded by hand
-- gives   the columns of deid.hierarchies    one row per leaf and level, and the rows of NULL; an
--         error for an empty file, ragged rows, a repeated leaf and a label with two parents
-- example INSERT INTO deid.hierarchies FROM deid.read_hierarchy('age.csv', 'age')
CREATE OR REPLACE MACRO deid.read_hierarchy(file, name, delim := NULL, release := '') AS TABLE
WITH lines AS (
  -- whole lines, split below by one plain rule: the CSV sniffer guesses, and takes ragged rows
  -- for a single column
  SELECT line
  FROM read_csv(
    coalesce(
      CASE
        WHEN name IS NULL OR CAST(name AS VARCHAR) = ''
          THEN error('deid.read_hierarchy: name must be that of the hierarchy, such as ''age''')
        WHEN release IS NULL
          THEN error('deid.read_hierarchy: release must be a name, or left out for none')
        WHEN delim IS NOT NULL AND CAST(delim AS VARCHAR) NOT IN (';', chr(9), ',')
          THEN error('deid.read_hierarchy: delim must be '';'', a tab or '','', or NULL')
      END,
      file,
      error('deid.read_hierarchy: file must be the path of a CSV file')
    ),
    columns := {'line': 'VARCHAR'}, header := false, auto_detect := false,
    delim := chr(1), quote := '', escape := ''
  )
  WHERE line <> ''
),
marks AS (
  SELECT
    coalesce(
      delim,
      CASE
        WHEN contains(any_value(bare), ';') THEN ';'
        WHEN contains(any_value(bare), chr(9)) THEN chr(9)
        ELSE ','
      END
    ) AS mark
  FROM (
    SELECT regexp_replace(line, '"([^"]|"")*"', '', 'g') AS bare
    FROM lines
    LIMIT 1
  )
),
leaves AS (
  SELECT
    list_transform(
      regexp_extract_all(
        line || mark, '("(?:[^"]|"")*"|[^' || mark || ']*)[' || mark || ']', 1
      ),
      lambda cell: CASE
        WHEN starts_with(cell, '"') THEN replace(cell[2:-2], '""', '"')
        ELSE cell
      END
    ) AS labels
  FROM lines, marks
),
shape AS (
  SELECT
    count(*) AS domain,
    count(DISTINCT labels[1]) AS distinct_leaves,
    min(len(labels)) AS fewest,
    max(len(labels)) AS most,
    count(DISTINCT labels[-1]) AS last_labels
  FROM leaves
),
steps AS (
  SELECT
    labels[1] AS leaf,
    unnest(range(len(labels))) AS step,
    unnest(labels) AS step_label,
    unnest(labels[2:]) AS parent
  FROM leaves
),
parents AS (
  SELECT count(*) AS torn
  FROM (
    SELECT step, step_label
    FROM steps
    GROUP BY step, step_label
    HAVING count(DISTINCT parent) > 1
  )
),
tops AS (
  SELECT
    *,
    -- the last level is the top when it has one label; level 0 is always the value itself
    CASE WHEN most > 1 AND last_labels = 1 THEN most - 1 ELSE most END AS top
  FROM shape, parents
  WHERE CASE
    WHEN domain = 0 THEN error(concat('deid.read_hierarchy: no rows for ', name))
    WHEN fewest <> most THEN error(concat(
      'deid.read_hierarchy: ragged rows for ', name, ', with ', fewest, ' to ', most, ' columns'
    ))
    WHEN domain <> distinct_leaves THEN error(concat(
      'deid.read_hierarchy: ', domain - distinct_leaves, ' repeated leaves for ', name
    ))
    WHEN torn > 0 THEN error(concat(
      'deid.read_hierarchy: ', torn, ' labels with two parents for ', name
    ))
    ELSE true
  END
),
labelled AS (
  SELECT
    leaf,
    step,
    CASE WHEN step = top THEN '*' ELSE step_label END AS step_label,
    -- Iyengar's loss: the share of the other leaves that a label covers
    CASE
      WHEN step = 0 THEN 0
      WHEN step = top THEN 1
      ELSE (count(*) OVER (PARTITION BY step, step_label) - 1) / (domain - 1)
    END AS step_loss
  FROM steps, tops
  UNION ALL
  SELECT leaf, top, '*', 1
  FROM steps, tops
  WHERE step = 0 AND top = most
  UNION ALL
  SELECT NULL, step, CASE WHEN step = top THEN '*' END, CASE WHEN step = top THEN 1 ELSE 0 END
  FROM (SELECT unnest(range(top + 1)) AS step, top FROM tops)
)
SELECT
  CAST(release AS VARCHAR) AS release,
  CAST(name AS VARCHAR) AS hierarchy,
  CAST(step AS INTEGER) AS level,
  leaf AS value,
  step_label AS label,
  CAST(step_loss AS DOUBLE) AS loss,
  CAST(NULL AS VARCHAR) AS lower,
  CAST(NULL AS VARCHAR) AS upper
FROM labelled;
