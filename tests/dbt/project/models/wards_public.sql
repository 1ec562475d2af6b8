-- wards_public: no record is left out of it, so that one rare record closes its gate
{{ config(materialized='deid_release') }}

SELECT
  {{ deid.generalize('ward', ref('wards_public_policy')) }} AS ward,
  {{ deid.generalize('admitted', ref('wards_public_policy')) }} AS admitted,
  diagnosis
FROM {{ ref('visits') }}
