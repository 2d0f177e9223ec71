import { loadForms } from '@weir/proxy/protocols';

/* Imported by tests of what commands call after they have loaded the forms of protocols. */

await loadForms();
