"""The schemas in schema/, for the programs in this folder."""

import json
import pathlib

import jsonschema

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class Schemas:
    """The schemas, by command. A schema is a list of alternatives, of which exactly one must fit."""

    def __init__(self, folder=PROJECT / "schema"):
        self.by_id = {}
        self.by_command = {}
        for path in sorted(folder.glob("*.schema.json")):
            schema = json.loads(path.read_text())
            self.by_id[schema["$id"]] = schema
            if "oneOf" in schema:
                self.by_command[path.name.removesuffix(".schema.json")] = schema
        self._alternatives = {
            command: [self._alternative(schema, one["$ref"]) for one in schema["oneOf"]]
            for command, schema in self.by_command.items()
        }

    def validator(self, schema):
        resolver = jsonschema.RefResolver(schema.get("$id", ""), schema, store=dict(self.by_id))
        return jsonschema.Draft202012Validator(schema, resolver=resolver)

    def _alternative(self, schema, reference):
        identifier, _, name = reference.partition("#/$defs/")
        required = frozenset(self.by_id[identifier]["$defs"][name]["required"])
        validator = self.validator({"$ref": reference, "$id": schema["$id"] + ":" + name})
        return name, required, validator

    def alternatives(self, command):
        return [name for name, _, _ in self._alternatives[command]]

    def fitting(self, command, value):
        """The names of the alternatives that fit."""
        if not isinstance(value, dict):
            return []
        return [name for name, required, validator in self._alternatives[command]
                if required <= value.keys() and validator.is_valid(value)]

    def explain(self, command, value):
        """Why none fits: the errors of the alternative that is the most similar."""
        def similarity(alternative):
            _, required, _ = alternative
            return len(required & value.keys()) - len(value.keys() - required)
        if not isinstance(value, dict):
            return "not an object"
        name, _, validator = max(self._alternatives[command], key=similarity)
        errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.path)))
        return "; ".join(f"{name}{''.join(f'/{part}' for part in error.path)}: {error.message[:300]}"
                         for error in errors[:5])


def unique_fields(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a field appears twice")
    return value


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse(text):
    return json.loads(text, object_pairs_hook=unique_fields, parse_constant=refuse_constant)
