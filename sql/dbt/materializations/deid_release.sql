{#- A table that is only released when it keeps its promises: built beside, measured, and only then
    put in place of the one before. Its rows are sorted by all columns, so that their order tells
    nothing, and it carries no comments. -#}
{% materialization deid_release, default, supported_languages=['sql'] %}
  {%- set gate = deid.declared_gate(model) -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set intermediate_relation = make_intermediate_relation(target_relation) -%}
  {%- set preexisting_intermediate = load_cached_relation(intermediate_relation) -%}
  {%- set backup_type = 'table' if existing_relation is none else existing_relation.type -%}
  {%- set backup_relation = make_backup_relation(target_relation, backup_type) -%}
  {%- set preexisting_backup = load_cached_relation(backup_relation) -%}
  {%- set grant_config = config.get('grants') -%}

  -- what a run that was killed left
  {{ drop_relation_if_exists(preexisting_intermediate) }}
  {{ drop_relation_if_exists(preexisting_backup) }}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% call statement('main') -%}
    {{ get_create_table_as_sql(False, intermediate_relation, deid.sorted_rows(sql)) }}
  {%- endcall %}

  {%- set failures = deid.gate_failures(intermediate_relation, gate) -%}
  {% if failures %}
    -- committed, so that nothing of it stays where tables are made outside of transactions
    {{ drop_relation_if_exists(intermediate_relation) }}
    {% do adapter.commit() %}
    {% do deid.stop(
      gate.where ~ ': not released, and ' ~ ('there is none yet. ' if existing_relation is none
        else 'the one before stays. ') ~ failures | join('. '),
      'generalize further, or leave records out with deid.suppress'
    ) %}
  {% endif %}

  {% if existing_relation is not none %}
    {{ adapter.rename_relation(existing_relation, backup_relation) }}
  {% endif %}
  {{ adapter.rename_relation(intermediate_relation, target_relation) }}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do apply_grants(
    target_relation, grant_config,
    should_revoke=should_revoke(existing_relation, full_refresh_mode=True)
  ) %}
  {% do adapter.commit() %}
  {{ drop_relation_if_exists(backup_relation) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{#- A query whose rows are sorted by all its columns. -#}
{% macro sorted_rows(query) %}
  SELECT *
  FROM (
    {{ query }}
  ) AS deid_rows
  ORDER BY
  {%- for _ in get_columns_in_query(query) %} {{ loop.index }}{{ ',' if not loop.last }}{% endfor %}
{% endmacro %}
