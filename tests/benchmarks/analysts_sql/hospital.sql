-- A made-up hospital: 6,000 visits, and what an owner keeps beside them. The columns of a visit that
-- are released as they are have no combination twice, so that a released record names its original.

CREATE TABLE wards AS
FROM (VALUES
  ('A1', 'surgery', 'East', 24), ('A2', 'surgery', 'East', 18), ('B1', 'medicine', 'West', 40),
  ('B2', 'medicine', 'West', 36), ('B3', 'medicine', 'East', 30), ('C1', 'children', 'North', 16)
) AS listed(ward, department, building, beds);

CREATE TABLE districts AS
SELECT
  CAST(10000 + 1000 * (i // 10) + 7 * (i % 10) AS VARCHAR) AS zip,
  ['Nord', 'Ost', 'Sued', 'West'][1 + i // 10] AS district,
  CAST(8000 + hash(i, 'people') % 30000 AS INTEGER) AS people
FROM range(40) AS numbers(i);

CREATE TABLE tariffs AS
SELECT
  ward,
  diagnosis,
  CAST(350 + 25 * (hash(ward, diagnosis) % 30) AS DECIMAL(8, 2)) AS day_rate
FROM wards, (VALUES ('asthma'), ('diabetes'), ('flu'), ('fracture'), ('infarct'), ('none'))
  AS listed(diagnosis);

CREATE TABLE visits AS
WITH drawn AS (
  SELECT
    i,
    hash(i, 'age') % 1000 / 1000.0 AS of_age,
    hash(i, 'older') % 1000 / 1000.0 AS of_older,
    hash(i, 'stay') % 1000 / 1000.0 AS of_stay,
    hash(i, 'zip') % 1000 / 1000.0 AS of_zip,
    hash(i, 'ward') % 1000 / 1000.0 AS of_ward,
    hash(i, 'illness') % 1000 / 1000.0 AS of_illness,
    hash(i, 'price') % 1000 / 1000.0 AS of_price,
    hash(i, 'pleased') % 1000 / 1000.0 AS of_pleased,
    hash(i, 'sex') % 100 AS of_sex,
    TIMESTAMP '2022-01-01' + to_minutes(CAST(hash(i, 'moment') % 1576800 AS BIGINT)) AS admitted
  FROM range(6200) AS numbers(i)
), people AS (
  SELECT
    *,
    CAST(floor(48 * of_age + 47 * of_older) AS INTEGER) AS age,
    CASE WHEN of_sex < 52 THEN 'F' ELSE 'M' END AS sex,
    CAST(1 + floor(20 * of_stay * of_stay * of_stay) AS INTEGER) AS los
  FROM drawn
), patients AS (
  SELECT
    *,
    CASE
      WHEN age < 16 AND of_ward < 0.8 THEN 'C1'
      ELSE ['A1', 'A2', 'B1', 'B2', 'B3'][CAST(1 + floor(5 * of_ward * of_ward) AS INTEGER)]
    END AS ward,
    CASE
      WHEN age > 55 AND of_illness < 0.35 THEN 'infarct'
      WHEN age > 40 AND of_illness < 0.5 THEN 'diabetes'
      ELSE ['flu', 'fracture', 'asthma', 'none'][CAST(1 + floor(4 * of_illness) AS INTEGER)]
    END AS diagnosis
  FROM people
)
SELECT
  'V' || lpad(CAST(i AS VARCHAR), 5, '0') AS visit,
  age,
  sex,
  CAST(
    CAST(10000 + 1000 * floor(4 * of_zip * of_zip) + 7 * (hash(i, 'street') % 10) AS INTEGER)
    AS VARCHAR
  ) AS zip,
  admitted,
  ward,
  diagnosis,
  CAST(180 + 2.5 * floor(los * (40 + 60 * of_price)) AS DECIMAL(10, 2)) AS cost,
  los,
  CASE WHEN of_pleased < 0.8 THEN of_pleased < 0.55 END AS satisfied,
  CAST(admitted AS DATE) + los + CAST(3 + hash(i, 'bill') % 40 AS INTEGER) AS billed
FROM patients
QUALIFY row_number() OVER (
  PARTITION BY ward, diagnosis, cost, los, satisfied, billed
  ORDER BY i
) = 1
ORDER BY i
LIMIT 6000;
