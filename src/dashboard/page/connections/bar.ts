import type { ConnectionListView } from '../../connections/view.ts';
import { Choice } from '../components/fields.ts';
import { narrow } from '../components/media.ts';
import { Search } from '../components/search.ts';
import { count, escaped } from '../format.ts';
import { html } from '../html.ts';
import { setParameters } from '../router.ts';
import { closeMatching } from './close.ts';
import type { Freeze } from './freeze.ts';
import { isAmount, isSortKey, SORTS, type ListQuery } from './query.ts';

const GROUPS = [
  ['none', 'none'],
  ['outbound', 'outbound'],
  ['user', 'user'],
  ['host', 'destination'],
  ['source', 'source'],
  ['inbound', 'inbound'],
  ['rule', 'rule'],
  ['network', 'network'],
] as const;

/** Options prefixed with the name of the select box, since phones have no room for a label. */
const named = <T extends string>(name: string, options: readonly (readonly [T, string])[]) =>
  options.map(([value, title]) => [value, `${name}: ${title.toLowerCase()}`] as const);

interface BarProps {
  readonly query: ListQuery;
  readonly view: ConnectionListView;
  readonly freeze: Freeze;
  readonly readOnly: boolean;
}

/** The filter and the buttons above the list. */
export function Bar({ query, view, freeze, readOnly }: BarProps) {
  const { problem } = view;
  return html`<div class="bar">
      <${Search}
        label="Filter connections"
        name="Filter"
        placeholder="Filter: user:ann out:tokyo host:*.video age>1h"
        parameter="filter"
        value=${query.filter}
        describedBy="filter-help"
        isInvalid=${problem !== null}
      />
      <${Choice}
        label="Group"
        value=${query.group}
        options=${narrow.value ? named('Group', GROUPS) : GROUPS}
        onChange=${(group: string) => setParameters({ group: group === 'none' ? '' : group, open: '' })}
      />
      ${
        narrow.value &&
        html`<${Choice}
          label="Sort"
          value=${query.sort}
          options=${named('Sort', SORTS)}
          onChange=${(sort: string) =>
            setParameters({ sort, order: isSortKey(sort) && isAmount(sort) ? 'descending' : '' })}
        />`
      }
      <button
        type="button"
        aria-pressed=${freeze.isPressed ? 'true' : 'false'}
        onClick=${freeze.toggle}
      >
        Freeze
      </button>
      ${
        !readOnly &&
        query.filter !== '' &&
        problem === null &&
        html`<button
          type="button"
          disabled=${view.matching === 0}
          onClick=${() => void closeMatching(query.filter)}
        >
          Close ${count(view.matching)} …
        </button>`
      }
    </div>
    <p class="list-state" id="filter-help">
      ${problem === null ? stateText(query, view) : html`<span class="error">✕ ${escaped(problem.message)}.</span>`}
      ${
        freeze.word !== '' &&
        html`<span class="held"
          >${freeze.isPressed ? 'frozen' : 'held in place'}${
            view.fresh > 0 &&
            html` ·
              <button type="button" class="quiet" onClick=${freeze.renew}>
                +${count(view.fresh)} new
              </button>`
          }</span
        >`
      }
    </p>`;
}

function stateText({ filter }: ListQuery, { matching, flows, listed }: ConnectionListView): string {
  if (!listed) return '';
  if (filter === '') return `${count(flows)} ${flows === 1 ? 'connection' : 'connections'}`;
  return `${count(matching)} of ${count(flows)} connections`;
}
