{#- A table that is only released when it keeps what is planned: built beside, measured, and only
    then put in place of the one before. Its rows are sorted by all columns, so that their order
    tells nothing, and it carries no comments. -#}
{% materialization deid_release, default, supported_languages=['sql'] %}
  {%- set gate = deid.declared_gate(model) -%}
  {%- set plan = deid.plan_of(gate.policy) -%}
  {%- do deid.take_types(gate, plan) -%}
  {%- do deid.require_countable(gate, plan) -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set intermediate_relation = make_intermediate_relation(target_relation) -%}
  {%- set measured_relation = make_intermediate_relation(target_relation, '__deid_tmp') -%}
  {%- set backup_type = 'table' if existing_relation is none else existing_relation.type -%}
  {%- set backup_relation = make_backup_relation(target_relation, backup_type) -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set columns = plan.columns.keys() | list -%}
  {%- set hidden = plan.subject is not none and plan.subject not in columns -%}
  -- what is measured stays until the hooks have run, to be compared with what they leave
  {%- set apart = hidden or post_hooks | length > 0 -%}
  {%- set built = measured_relation if apart else intermediate_relation -%}

  -- what a run that was killed left
  {% for relation in [intermediate_relation, measured_relation, backup_relation] %}
    {{ drop_relation_if_exists(load_cached_relation(relation)) }}
  {% endfor %}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set query = sql -%}
  {%- if deid.is_incremental() -%}
    {% do deid.require_addable(existing_relation, gate, plan) %}
    {%- set query = deid.with_released(sql, existing_relation, columns) -%}
  {%- endif -%}
  {% call statement('main') -%}
    {{ get_create_table_as_sql(False, built, query if apart else deid.sorted_rows(query)) }}
  {%- endcall %}

  {%- set dry = flags.EMPTY and not deid.has_rows(built) -%}
  {%- set failures = deid._of_columns(deid.types_of(built), plan) if dry
    else deid.gate_failures(built, gate, plan) -%}
  {% if failures %}
    -- committed, so that nothing of it stays where tables are made outside of transactions
    {{ drop_relation_if_exists(built) }}
    {% do adapter.commit() %}
    {% do deid.stop(
      gate.where ~ ': not released, and ' ~ ('there is none yet. ' if existing_relation is none
        else 'the one before stays. ') ~ failures | join('. '),
      'generalize further, leave records out with deid.suppress, or plan again' ~ (
        '; a release that is not of this plan is built whole with --full-refresh'
        if deid.is_incremental() else ''
      )
    ) %}
  {% endif %}
  {% if dry and existing_relation is not none %}
    {% do log(gate.where ~ ': --empty checks columns and types; the one before stays', info=true) %}
    {{ drop_relation_if_exists(built) }}
    {% do adapter.commit() %}
    {{ return({'relations': [target_relation]}) }}
  {% endif %}

  {% if apart %}
    {% call statement('released') -%}
      {{ get_create_table_as_sql(
        False, intermediate_relation, deid.sorted_rows(deid.selected(columns, built))
      ) }}
    {%- endcall %}
  {% endif %}
  {% if existing_relation is not none %}
    {{ adapter.rename_relation(existing_relation, backup_relation) }}
  {% endif %}
  {{ adapter.rename_relation(intermediate_relation, target_relation) }}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {%- set done = deid.done_by_hooks(target_relation, measured_relation, plan) if apart else none -%}
  {% if done %}
    {{ drop_relation_if_exists(measured_relation) }}
    {% do deid.drop_whatever(target_relation) %}
    {% if existing_relation is not none %}
      {{ adapter.rename_relation(backup_relation, existing_relation) }}
    {% endif %}
    {% do adapter.commit() %}
    {% do deid.stop(
      gate.where ~ ': not released. A post-hook changed the table after it was measured: ' ~ done,
      'do it in the model or before it; a hook may grant, or copy the table'
    ) %}
  {% endif %}
  {{ drop_relation_if_exists(measured_relation if apart else none) }}
  {% do apply_grants(
    target_relation, grant_config,
    should_revoke=should_revoke(existing_relation, full_refresh_mode=True)
  ) %}
  {% do adapter.commit() %}
  {{ drop_relation_if_exists(backup_relation) }}

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

{#- The columns of a plan, of a relation. -#}
{% macro selected(columns, relation) %}
  SELECT {{ deid._listed(deid.found(relation, columns, relation.identifier)) }}
  FROM {{ relation }}
{% endmacro %}

{#- The records that are released already, and those of a query. -#}
{% macro with_released(query, existing, columns) %}
  {{ deid.selected(columns, existing) }}
  UNION ALL
  SELECT {{ deid._listed(deid._named_list(columns, 'incremental')) }}
  FROM (
    {{ query }}
  ) AS deid_added
{% endmacro %}

{% macro has_rows(relation) %}
  {% set query %}
    SELECT COUNT(*)
    FROM {{ relation }}
  {% endset %}
  {{ return(run_query(query).rows[0][0] | int > 0) }}
{% endmacro %}
