import type { NodeHealth, NodeProbe, NodeRow, ProbingState } from '../../nodes/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { connectionsLink } from '../router.ts';
import { bytes, counted, escaped, Name, rate, since } from '../format.ts';
import { html } from '../html.ts';
import { ms, originOf } from './columns.ts';
import { cancelProbe, probe, usePreview } from './probe.ts';

/** Details of one node in a sheet at the side. */
export function NodeSheet({
  row,
  probing,
  onClose,
}: {
  readonly row: NodeRow;
  readonly probing: ProbingState;
  readonly onClose: () => void;
}) {
  const { tag, kind } = row;
  return html`<${Dialog} sheet title=${html`<${Name} text=${tag} />`} onClose=${onClose}>
    <${Facts} row=${row} />
    ${row.members.length > 0 && html`<${Members} row=${row} />`}
    ${kind !== 'gone' && html`<${Probing} row=${row} probing=${probing} />`}
    <p class="bar">
      <a class="button" href=${connectionsLink({ out: tag })}>Show its connections</a>
    </p>
  <//>`;
}

function Facts({ row }: { readonly row: NodeRow }) {
  const { kind, protocol, carrier, server, goneSince, flows, versions, health } = row;
  const { up, down, upTotal, downTotal, acceptsAny, lostFrom } = row;
  return html`<dl class="facts">
    <dt>${kind === 'balancer' ? 'Balancer' : 'Protocol'}</dt>
    <dd>${protocol}${carrier !== '' && carrier !== protocol && `, ${carrier}`}</dd>
    ${
      server !== null &&
      html`<dt>Server</dt>
        <dd><${Name} text=${server} /></dd>`
    }
    ${
      acceptsAny &&
      html`<dt>Certificate</dt>
        <dd class="error">
          any is accepted (allow_insecure): anyone on the path can read the traffic
        </dd>`
    }
    ${
      lostFrom.length > 0 &&
      html`<dt>Nodes</dt>
        <dd class="error">none is in ${escaped(lostFrom.join(', '))} any more</dd>`
    }
    <dt>From</dt>
    <dd>
      ${originOf(row)}${goneSince !== null && html`; kept because it is in use, gone from the subscription since ${escaped(goneSince)}`}
    </dd>
    <dt>Flows</dt>
    <dd>${counted(flows, 'open flow')}</dd>
    ${
      versions.length > 1 &&
      html`<dt>Versions</dt>
        <dd>
          ${versions.map(({ version, flows: open }, at) => `${at > 0 ? '; ' : ''}version ${version}: ${counted(open, 'flow')}`)}.
          ${' '}Older ones end with their flows.
        </dd>`
    }
    <dt>Up</dt>
    <dd>${bytes(upTotal)} <span class="dim">${rate(up)}</span></dd>
    <dt>Down</dt>
    <dd>${bytes(downTotal)} <span class="dim">${rate(down)}</span></dd>
    ${
      health !== null &&
      html`<dt>Health</dt>
        <dd><${Health} health=${health} /></dd>`
    }
  </dl>`;
}

const WORDS = { available: '● up', unavailable: '✕ down', unknown: '○ not probed yet' } as const;

const Health = ({ health: { state, probedAt, error } }: { readonly health: NodeHealth }) =>
  html`<span class=${state === 'unavailable' ? 'error' : ''}>${WORDS[state]}</span>${
      probedAt !== null && html`<span class="dim">, ${since(probedAt)} ago</span>`
    }${error !== null && html`<br />${escaped(error)}`}`;

const Members = ({ row }: { readonly row: NodeRow }) =>
  html`<section aria-label="Members">
    <h3>Members</h3>
    <dl class="facts">
      ${row.members.map(
        ({ tag, health }) =>
          html`<dt><${Name} text=${tag} /></dt>
            <dd><${Health} health=${health} /></dd>`,
      )}
    </dl>
    ${row.moreMembers > 0 && html`<p class="dim">and ${counted(row.moreMembers, 'other member')}</p>`}
  </section>`;

function Probing({ row, probing }: { readonly row: NodeRow; readonly probing: ProbingState }) {
  const preview = usePreview({ tag: row.tag });
  const { isRunning, isPossible } = probing;
  return html`<section class="probing" aria-label="Probe">
    <div class="bar">
      <h3>Probe</h3>
      ${
        isRunning
          ? html`<button type="button" onClick=${cancelProbe}>Cancel</button>`
          : html`<button
              type="button"
              disabled=${!isPossible || preview === undefined}
              onClick=${() => void probe({ tag: row.tag })}
            >
              Probe now
            </button>`
      }
    </div>
    ${!isPossible && html`<p class="dim">Probes go through the control socket, which is not there.</p>`}
    <div aria-live="polite">${row.probe !== null && html`<${Result} probe=${row.probe} />`}</div>
    ${preview?.command && html`<${CommandLine} text=${preview.command} label="The same on the command line" />`}
  </section>`;
}

const STATES = {
  waiting: 'It waits for others.',
  running: 'Probing …',
  cancelled: 'It was cancelled.',
  done: '',
} as const;

function Result({ probe: { state, at, url, ...result } }: { readonly probe: NodeProbe }) {
  if (state !== 'done') return html`<p class="dim">${STATES[state]}</p>`;
  const { tries, succeeded, dial, handshake, firstByte, second, reused, error } = result;
  return html`<p>
      ${succeeded === 0 ? '✕' : succeeded < tries ? '▲' : '●'} ${succeeded} of
      ${' '}${counted(tries, 'try', 'tries')} succeeded, ${since(at)} ago ${' '}<span class="dim"
        ><${Name} text=${url}
      /></span>
    </p>
    ${
      succeeded > 0 &&
      html`<dl class="facts">
        <dt>Dial</dt>
        <dd>${reused ? 'reused' : ms(dial)}</dd>
        <dt>Handshake</dt>
        <dd>${ms(handshake)}</dd>
        <dt>First byte</dt>
        <dd>${ms(firstByte)}</dd>
        <dt>Second request</dt>
        <dd>${ms(second)}</dd>
      </dl>`
    }
    ${error !== null && html`<p class="error">✕ ${escaped(error)}</p>`}`;
}
