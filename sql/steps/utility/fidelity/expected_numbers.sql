-- utility/fidelity/expected_numbers: where the numbers of a release are expected, each label spread over its pieces
-- reads   __counted__   number of the column, whole, label, mass: how many records show a label
--         __pieces__    number, label, low, high, share: what it stands for; its shares are 1
-- gives   number, whole, low, high, mass          a label without pieces says nothing: low is NULL
SELECT
  counted.number,
  counted.whole,
  pieces.low,
  pieces.high,
  counted.mass * coalesce(pieces.share, 1) AS mass
FROM __counted__ AS counted
LEFT JOIN __pieces__ AS pieces
  ON counted.number = pieces.number AND counted.label IS NOT DISTINCT FROM pieces.label
