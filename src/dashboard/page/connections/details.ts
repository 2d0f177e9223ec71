import type { ConnectionDetails, FlowRow } from '../../connections/view.ts';
import { Dialog } from '../components/dialog.ts';
import { bytes, counted, escaped, Name, rate, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';
import { AgeOf, Destination } from './columns.ts';
import { closeFlow, closeMatching } from './close.ts';
import { Way } from './way.ts';
import { Why } from './why.ts';

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
