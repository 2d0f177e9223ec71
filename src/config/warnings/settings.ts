import { inboundProtocol, outboundProtocol } from '../../protocols/registry.ts';
import { emptyTable } from '../../schema/node.ts';
import type { Examined } from './examined.ts';
import type { WarningList } from './warning.ts';

/** Collects warnings of the protocols about their settings, and warns of inbounds that reject every client. */
export function warnOfSettings({ own, spec }: Examined, list: WarningList): void {
  own.inbound.forEach(({ value: { tag, settings }, span }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound) return;
    const side = inboundProtocol(inbound.protocol);
    if (side.users(inbound.settings)?.length === 0) {
      list.add(
        'no-users',
        tag.span,
        () => `inbound ${tag.value} has no users, so it rejects every client`,
      );
    }
    for (const { id, span: place, message } of side.warnings?.(settings ?? emptyTable(span)) ??
      []) {
      list.add(id, place, () => `inbound ${tag.value}: ${message}`);
    }
  });
  own.outbound.forEach(({ value: { tag, settings }, span }, index) => {
    const outbound = spec.outbounds[index];
    if (!outbound) return;
    const side = outboundProtocol(outbound.protocol);
    for (const { id, span: place, message } of side.warnings?.(settings ?? emptyTable(span)) ??
      []) {
      list.add(id, place, () => `outbound ${tag.value}: ${message}`);
    }
  });
}
