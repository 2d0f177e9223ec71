import { baselineAead } from '../../src/crypto/aead/baseline-aead.ts';
import { checkedAead } from '../../src/crypto/aead/checked.ts';
import { openOpensslAead } from '../../src/crypto/aead/aead.ts';
import { aeadConformance } from './aead.ts';

aeadConformance('node:crypto', baselineAead);
aeadConformance('OpenSSL through koffi', openOpensslAead());
aeadConformance('the watched implementation', checkedAead(openOpensslAead(), baselineAead));
