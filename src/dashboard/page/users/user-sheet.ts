import type { UserRow, UsersView } from '../../users/view.ts';
import { Dialog } from '../components/dialog.ts';
import { connectionsLink } from '../connections-link.ts';
import { bytes, count, counted, Name, rate, since } from '../format.ts';
import { html } from '../html.ts';
import { UserName } from './columns.ts';
import { removeUser } from './remove.ts';

/** Details of one row of users in a sheet at the side. */
export const UserSheet = ({
  row,
  view,
  onClose,
}: {
  readonly row: UserRow;
  readonly view: UsersView;
  readonly onClose: () => void;
}) =>
  html`<${Dialog} sheet title=${html`<${UserName} row=${row} />`} onClose=${onClose}>
    <dl class="facts">
      <dt>Inbound</dt>
      <dd><${Name} text=${row.inbound} /></dd>
      ${view.unlisted === null && html`<${Use} row=${row} view=${view} />`}
    </dl>
    ${view.unlisted !== null && html`<p class="dim">What it uses is not known: connections are not listed.</p>`}
    ${
      row.user === null &&
      view.unlisted === null &&
      html`<p class="dim">
        Flows without a label: VLESS and VMess users have none, and clients of an inbound without
        accounts. Their bytes are those of all of them.
      </p>`
    }
    <${InFile} row=${row} view=${view} />
  <//>`;

const Use = ({ row, view }: { readonly row: UserRow; readonly view: UsersView }) =>
  html`<dt>Sessions</dt>
    <dd>${count(row.sessions)}</dd>
    <dt>Sources</dt>
    <dd>${row.sourceCount === 0 ? 'none' : sourcesOf(row)}</dd>
    <dt>Flows</dt>
    <dd>
      <a href=${connectionsLink({ user: row.user ?? '', in: row.inbound })}
        >${counted(row.flows, 'flow')}</a
      >
    </dd>
    <dt>Rate</dt>
    <dd>${rate(row.rate)}</dd>
    <dt>Bytes</dt>
    <dd>${bytes(row.bytes)}${view.since !== null && ` in ${since(view.since)}`}</dd>`;

const sourcesOf = ({ sources, sourceCount }: UserRow) =>
  html`${sources.map((source, at) => html`${at > 0 && ', '}<${Name} text=${source} />`)}${
    sourceCount > sources.length && ` and ${count(sourceCount - sources.length)} more`
  }`;

/** The users of the file behind a row, with buttons that remove them. */
function InFile({ row, view }: { readonly row: UserRow; readonly view: UsersView }) {
  const { names, moreNames, inbound } = row;
  if (names.length === 0) {
    return html`<p class="dim">
      ${
        view.inFile === null
          ? 'The users of the file are not known.'
          : row.user === null
            ? 'The file has no user without a label for this inbound.'
            : 'It is not in the file: it was removed, and its flows go on.'
      }
    </p>`;
  }
  return html`<h3>In the file</h3>
    <ul class="removals">
      ${names.map(
        (name) =>
          html`<li key=${name}>
            <${Name} text=${name} />
            ${
              view.noEdit === null &&
              html`<button
                type="button"
                class="danger"
                onClick=${() => void removeUser({ inbound, name })}
              >
                Remove …
              </button>`
            }
          </li>`,
      )}
    </ul>
    ${moreNames > 0 && html`<p class="dim">${counted(moreNames, 'more user')}: search by name to see one.</p>`}
    ${view.noEdit !== null && html`<p class="dim">${view.noEdit}</p>`}`;
}
