import { configSchema, limitsSchema } from '@weir/config/json-schema';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { SCHEMA } from './specs.ts';

const SCHEMA_HELP = `Usage: weir schema [options]

Options:
${optionLines(SCHEMA.options)}
Prints a JSON Schema of the configuration file, for editors. With

    #:schema ./weir.schema.json

as the first line of a configuration, Tombi and Taplo complete its keys and mark mistakes.
`;

/** `weir schema`: prints the JSON Schema of the configuration. Resolves with the exit status. */
export const schemaCommand = commandOf(
  SCHEMA.name,
  SCHEMA_HELP,
  parserOf(SCHEMA, (values) => values),
  async ({ limits }, io) => {
    const schema = limits === true ? limitsSchema() : await configSchema();
    io.stdout.write(`${JSON.stringify(schema, null, 2)}\n`);
    return 0;
  },
);
