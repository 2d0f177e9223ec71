import type { ConnectionDetails, FlowRow } from '../../connections/view.ts';
import { Dialog } from '../components/dialog.ts';
import { bytes, counted, escaped, Name, rate, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';
import { AgeOf, Destination } from './columns.ts';
import { closeFlow, closeMatching } from './close.ts';
import type { RulesView, ExplainResult } from '../../rules/view.ts';
import { useWatch, act } from '../connection.ts';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { failureOf } from '../components/notice.ts';
import { Explanation } from '../rules/explanation.ts';

type KnownDetails = NonNullable<ConnectionDetails>;

/** Details of one connection in a sheet at the side. */
export function DetailsSheet({
  details,
  readOnly,
  onClose,
}: {
  /** `undefined` before they have arrived; `null` after the flow has been forgotten. */
  readonly details: ConnectionDetails | undefined;
  readonly readOnly: boolean;
  readonly onClose: () => void;
}) {
  if (details === undefined || details === null) {
    return html`<${Dialog} sheet title="Connection" onClose=${onClose}>
      <p>
        ${details === null ? 'It has ended, and its details are gone after 30 seconds.' : 'Loading …'}
      </p>
    <//>`;
  }
  const { flow } = details;
  const destination = `${flow.sniffed ?? flow.host}:${flow.port}`;
  return html`<${Dialog} sheet title=${html`<${Name} text=${destination} />`} onClose=${onClose}>
    <${Way} details=${details} />
    <${Facts} flow=${flow} />
    <${Why} key=${flow.id} flow=${flow}>
      ${
        flow.closedAt === null &&
        !readOnly &&
        html`<button
          type="button"
          class="danger soft"
          onClick=${() => void closeFlow(flow.id, destination)}
        >
          Close …
        </button>`
      }
    <//>
    <${Alike} details=${details} readOnly=${readOnly} />
    <${Others} details=${details} />
  <//>`;
}

const Facts = ({ flow }: { readonly flow: FlowRow }) =>
  html`<dl class="facts">
    <dt>User</dt>
    <dd>${flow.user === null ? 'none' : html`<${Name} text=${flow.user} />`}</dd>
    <dt>Network</dt>
    <dd>${escaped(flow.network)}</dd>
    ${
      flow.sniffed !== null &&
      html`<dt>Sniffed</dt>
        <dd><${Name} text=${flow.sniffed} /></dd>`
    }
    <dt>Opened</dt>
    <dd>${timeOfDay(flow.startedAt)}, <${AgeOf} flow=${flow} /></dd>
    <dt>Up</dt>
    <dd>${bytes(flow.up)} <span class="dim">${rate(flow.upRate)}</span></dd>
    <dt>Down</dt>
    <dd>${bytes(flow.down)} <span class="dim">${rate(flow.downRate)}</span></dd>
    <dt>Id</dt>
    <dd>${flow.id}${flow.session === null ? '' : `, session ${flow.session}`}</dd>
  </dl>`;

const Alike = ({
  details,
  readOnly,
}: {
  readonly details: KnownDetails;
  readonly readOnly: boolean;
}) =>
  html`<section aria-label="Connections like this">
    <h3>Like this</h3>
    <ul class="alike">
      ${details.alike.map(
        ({ what, filter, flows }) =>
          html`<li>
            <a href=${linkTo('connections', { filter })}
              >same ${what} <span class="dim">${counted(flows, 'flow')}</span></a
            >
            ${
              !readOnly &&
              html`<button
                type="button"
                class="quiet"
                disabled=${flows === 0}
                aria-label=${`Close all with the same ${what}`}
                onClick=${() => void closeMatching(filter)}
              >
                Close all …
              </button>`
            }
          </li>`,
      )}
    </ul>
  </section>`;

const Others = ({ details }: { readonly details: KnownDetails }) =>
  details.otherCount === 0
    ? null
    : html`<section aria-label="Other flows of the session">
        <h3>${counted(details.otherCount, 'other flow')} of its session</h3>
        <ul class="alike">
          ${details.others.map(
            (flow) =>
              html`<li>
                <a href=${linkTo('connections', { id: String(flow.id) })}
                  ><${Destination} flow=${flow}
                /></a>
                <span class="dim"><${AgeOf} flow=${flow} /></span>
              </li>`,
          )}
        </ul>
      </section>`;

/** The path of a flow: client → inbound → rule N, FILE:LINE → outbound@v → destination. */
function Way({ details }: { readonly details: NonNullable<ConnectionDetails> }) {
  const { flow, routeGroup } = details;
  const steps = [
    ['client', flow.source ?? 'client'],
    ['inbound', flow.inbound],
    ['outbound', `${flow.outbound}@v${flow.version}`],
    ['destination', `${flow.host}:${flow.port}`],
  ].map(([what, text]) => html`<li><small>${what}</small> <${Name} text=${text} /></li>`);
  const rule =
    flow.rule === null
      ? html`<li><small>route</small> default route</li>`
      : html`<${RuleStep} rule=${flow.rule} group=${routeGroup} />`;
  return html`<ol class="way" aria-label="The way of this connection">
    ${steps.slice(0, 2)}${rule}${steps.slice(2)}
  </ol>`;
}

function RuleStep({ rule, group }: { readonly rule: number; readonly group: string | null }) {
  const rules = useWatch<RulesView>('rules', {
    search: `rule:${rule}`,
    first: 0,
    count: 1,
    dead: false,
  }).value;
  return html`<li>
    <small>route</small>
    <span
      >${`rule ${rule}`}${group === null ? null : html` of <${Name} text=${group} />`}${placeOf(rules, rule)}</span
    >
  </li>`;
}

/** The place of a rule, as `, nodes.toml:12`, if the file's rules are those that routed the flow. */
function placeOf(rules: RulesView | undefined, rule: number) {
  const row = rules?.rows.find(({ id }) => id === rule);
  const isSame = rules?.file.kind === 'read' && rules.file.freshness === 'loaded';
  return row && isSame ? html`, <${Name} text=${row.place} />` : null;
}

type Answer =
  | { readonly kind: 'none' | 'asked' }
  | { readonly kind: 'answered'; readonly result: ExplainResult }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A button that explains why a flow took its outbound, and the explanation: on request, because it reads the rules. */
function Why({
  flow,
  children,
}: {
  readonly flow: FlowRow;
  /** Further buttons beside it. */
  readonly children?: ComponentChildren;
}) {
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' });
  const ask = () => {
    setAnswer({ kind: 'asked' });
    act<ExplainResult>('explain', { flow: flow.id }).then(
      (result) => setAnswer({ kind: 'answered', result }),
      (error: unknown) => setAnswer({ kind: 'failed', error }),
    );
  };
  return html`<section aria-label="Why">
    <div class="bar">
      <button type="button" onClick=${ask} disabled=${answer.kind === 'asked'}>
        Why ${escaped(flow.outbound)}?
      </button>
      ${children}
    </div>
    <div aria-live="polite">${bodyOf(answer)}</div>
  </section>`;
}

function bodyOf(answer: Answer) {
  switch (answer.kind) {
    case 'none':
      return null;
    case 'asked':
      return html`<p class="dim">Reading the rules …</p>`;
    case 'failed': {
      const { message, hints } = failureOf(answer.error);
      return html`<p class="error">✕ ${escaped(message)}</p>
        ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`;
    }
    case 'answered':
      return html`<${Explanation} result=${answer.result} />`;
    default:
      return answer satisfies never;
  }
}
