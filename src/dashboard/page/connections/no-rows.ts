import type { ConnectionListView } from '../../connections/view.ts';
import type { FrameView } from '../../frame/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { Empty, textOf } from '../components/states.ts';
import { watch } from '../connection.ts';
import { html } from '../html.ts';
import { setParameters } from '../router.ts';

const FACETS = [
  'user:ann',
  'out:tokyo',
  'in:socks',
  'host:*.video',
  'port:443',
  'src:10.*',
  'net:udp',
  'rule:4',
  'age>1h',
  'up>1M',
  'rate>500k',
  'closed:yes',
];

/** Shown in place of an empty list: the reason, and the next step. */
export function NoRows({
  view,
  filter,
}: {
  readonly view: ConnectionListView;
  readonly filter: string;
}) {
  if (view.problem !== null) {
    return html`<${Empty} title="The filter cannot be read">
      <p>Parts are words, and these facets; a minus before one excludes what it matches.</p>
      <p>${FACETS.map((facet) => html`<code>${facet}</code> `)}</p>
    <//>`;
  }
  if (filter !== '' && view.listed) {
    return html`<${Empty} title="Nothing matches">
      <p>None of the connections matches the filter.</p>
      <button type="button" onClick=${() => setParameters({ filter: '' })}>
        Remove the filter
      </button>
    <//>`;
  }
  const state = watch<FrameView>('frame').value?.states.find(({ kind }) => kind === 'no-flows');
  if (state === undefined) {
    return html`<${Empty}
      title=${view.listed ? 'No connections' : 'No list of connections yet'}
    />`;
  }
  const { title, text, step, command } = textOf(state);
  return html`<${Empty} title=${title}>
    <p>${text} ${step}</p>
    ${command !== undefined && html`<${CommandLine} text=${command} />`}
  <//>`;
}
