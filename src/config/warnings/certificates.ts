import { leafFacts } from '../../crypto/server-certificate.ts';
import { textAt, valueAt } from '../../schema/table-values.ts';
import { inboundProtocol } from '../../protocols/registry.ts';
import type { Span } from '../../schema/node.ts';
import type { Examined } from './examined.ts';
import { quotedShort, type WarningList } from './warning.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/**
 * Remaining validity in milliseconds below which a certificate is reported: automatic renewal usually happens earlier,
 * so it has failed.
 */
const SOON_MS = 14 * DAY_MS;

/** Warns of certificates that clients reject, or soon will, and of keys that other users can read. */
export function warnOfCertificates(examined: Examined, list: WarningList): void {
  const { own, spec, publicFiles, now } = examined;
  own.inbound.forEach(({ value: { tag, stream, settings } }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound) return;
    const subject = `inbound ${tag.value}`;
    const check = (certificates: string, certFile: WrittenPath, keyFile: WrittenPath): void => {
      const problem = problemWith(certificates, now);
      const place = certFile?.span ?? tag.span;
      if (problem !== undefined) list.add('certificate', place, () => `${subject}: ${problem}`);
      if (keyFile === undefined || !publicFiles.has(keyFile.value)) return;
      const { span, value } = keyFile;
      list.add(
        'key-readable',
        span,
        () =>
          `${subject}: every user of this machine can read the private key ${quotedShort(value)}: chmod o-r`,
      );
    };
    const tls = inbound.stream?.tls;
    if (tls) check(tls.certificates, stream?.tls?.value.certFile, stream?.tls?.value.keyFile);
    const own = inboundProtocol(inbound.protocol).certificates?.(inbound.settings);
    if (own === undefined || settings === undefined) return;
    check(own, placeOf(settings, 'cert_file'), placeOf(settings, 'key_file'));
  });
}

/** A path of the file and its place. */
type WrittenPath = { readonly value: string; readonly span: Span } | undefined;

function placeOf(settings: Parameters<typeof valueAt>[0], key: string): WrittenPath {
  const value = textAt(settings, key);
  const span = valueAt(settings, key)?.span;
  return value === undefined || span === undefined ? undefined : { value, span };
}

/** Returns the reason why clients reject a certificate, or when they will; `undefined` otherwise. */
function problemWith(certificates: string, now: number): string | undefined {
  const { validFrom, validTo, hasName } = leafFacts(certificates);
  if (validTo <= now) return `the certificate has expired on ${day(validTo)}: clients refuse it`;
  if (validFrom > now)
    return `the certificate is valid from ${day(validFrom)} on: clients refuse it`;
  if (!hasName) return 'the certificate has no subjectAltName, without which clients refuse it';
  return validTo - now < SOON_MS ? `the certificate expires on ${day(validTo)}` : undefined;
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
