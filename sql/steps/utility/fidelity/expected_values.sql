-- utility/fidelity/expected_values: how often the values of a release are expected, each label spread over its leaves
-- reads   __counted__   number of the column, label, mass: how many records show a label
--         __pieces__    number, label, leaf, share: what it stands for; its shares are 1
-- gives   number, value, mass          a label without leaves says nothing: value is NULL
SELECT
  counted.number,
  pieces.leaf AS value,
  counted.mass * coalesce(pieces.share, 1) AS mass
FROM __counted__ AS counted
LEFT JOIN __pieces__ AS pieces
  ON counted.number = pieces.number AND counted.label IS NOT DISTINCT FROM pieces.label
