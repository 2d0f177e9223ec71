import { baselineAead } from '../../src/aead/baseline-aead.ts';
import { checkedAead } from '../../src/aead/checked.ts';
import { openOpensslAead } from '../../src/aead/aead.ts';
import { aeadConformance } from './aead.ts';

aeadConformance('node:crypto', baselineAead);
aeadConformance('OpenSSL through koffi', openOpensslAead());
aeadConformance('the watched implementation', checkedAead(openOpensslAead(), baselineAead));
