{{ config(materialized='deid_release', meta={'deid': {'policy': 'visits_public_policy', 'source': 'visits'}}) }}

WITH generalized AS (
  SELECT
    {{ deid.generalize("age", ref('visits_public_policy')) }} AS age,
    {{ deid.generalize("sex", ref('visits_public_policy')) }} AS sex,
    {{ deid.generalize("ward", ref('visits_public_policy')) }} AS ward,
    {{ deid.generalize("zip", ref('visits_public_policy')) }} AS zip,
    {{ deid.generalize("admitted", ref('visits_public_policy')) }} AS admitted,
    diagnosis
  FROM {{ ref('visits') }}
)

{{ deid.suppress('generalized', ref('visits_public_policy')) }}
