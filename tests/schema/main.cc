// Compares the schemas of commands with the tables from which their JSON is written; see
// base/json_object.h.
//
//     rlctl_schemas FOLDER
//
// names each schema in FOLDER that differs, with status 1 if one does;
//
//     rlctl_schemas FOLDER --write
//
// writes them. What several commands have in common is written by hand, in common.schema.json,
// except the objects of errors; and so is the schema of what no command prints, exec.schema.json.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/app/app.h"
#include "cli/app/command.h"
#include "cli/errors/failure.h"

namespace {

using rlctl::JsonFieldInfo;
using rlctl::JsonObjectInfo;
using Json = nlohmann::ordered_json;

/// Whose objects they are: the schemas of others refer to its definitions.
using Owners = std::map<const JsonObjectInfo*, std::string>;

constexpr std::string_view kUrn = "urn:rlctl:schema:1:";

Json reference(std::string_view command, std::string_view definition) {
  return {{"$ref", std::string(kUrn).append(command).append("#/$defs/").append(definition)}};
}

Json type_of(rlctl::JsonType type) {
  if (type.names != nullptr) return {{"enum", type.names()}};
  if (type.text.find('"') == type.text.npos) return reference("common", type.text);
  return Json::parse("{" + std::string(type.text) + "}");
}

/// The schema of a command, with the definitions of all objects that have a name.
class Schema {
 public:
  Schema(std::string_view command, const Owners& owners) : command_(command), owners_(owners) {}

  Json make(const rlctl::JsonOutput& output) {
    Json alternatives = Json::array();
    for (const auto* object : output.objects) alternatives.push_back(schema_of(*object));
    alternatives.push_back(reference("common", "failure"));
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"$id", std::string(kUrn) + command_},
                   {"version", 1},
                   {"title", "rlctl " + command_ + " --json"},
                   {"description", output.about},
                   {"oneOf", alternatives}};
    if (!definitions_.empty()) schema["$defs"] = definitions_;
    return schema;
  }

  Json definition_of(const JsonObjectInfo& object) {
    Json required = Json::array(), properties = Json::object();
    add_fields(object, required, properties);
    Json schema = Json::object();
    if (!object.title.empty()) schema["title"] = object.title;
    if (!object.about.empty()) schema["description"] = object.about;
    schema.update({{"type", "object"},
                   {"required", required},
                   {"additionalProperties", false},
                   {"properties", properties}});
    return schema;
  }

 private:
  /// A reference, if the object has a name.
  Json schema_of(const JsonObjectInfo& object) {
    if (object.name.empty()) return definition_of(object);
    const auto owner = owners_.find(&object);
    if (owner != owners_.end() && owner->second != command_)
      return reference(owner->second, object.name);
    const std::string name(object.name);
    if (!definitions_.contains(name)) {
      definitions_[name] = nullptr;  // keeps the place before those of its fields
      definitions_[name] = definition_of(object);
    }
    return reference(command_, name);
  }

  void add_fields(const JsonObjectInfo& object, Json& required, Json& properties) {
    for (std::size_t row = 0; row < object.size; ++row) {
      const auto& field = object.at(object, row);
      if (field.kind == JsonFieldInfo::Kind::kPart) {
        add_fields(*field.object, required, properties);
        continue;
      }
      const std::string name(field.name);
      if (!field.may_be_missing) required.push_back(name);
      properties[name] = field_of(field);
      if (field.kind == JsonFieldInfo::Kind::kBytes)
        properties[name + "_base64"] = reference("common", "base64");
    }
  }

  Json field_of(const JsonFieldInfo& field) {
    Json schema = Json::object();
    if (!field.about.empty()) schema["description"] = field.about;
    if (field.kind == JsonFieldInfo::Kind::kConstant) {
      schema["const"] = field.type.text;
    } else if (field.kind == JsonFieldInfo::Kind::kArray) {
      schema["type"] = "array";
      if (field.least > 0) schema["minItems"] = field.least;
      schema["items"] = schema_of(*field.object);
    } else if (field.kind == JsonFieldInfo::Kind::kObject) {
      auto object = schema_of(*field.object);
      if (field.may_be_null && object.contains("$ref")) {
        object = {{"anyOf", {object, {{"type", "null"}}}}};
      } else if (field.may_be_null) {
        object["type"] = {"object", "null"};
      }
      schema.update(object);
    } else {
      schema.update(type_of(field.type));
    }
    return schema;
  }

  std::string command_;
  const Owners& owners_;
  Json definitions_ = Json::object();
};

std::string path_of(const std::string& folder, const std::string& schema) {
  return folder + "/" + schema + ".schema.json";
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The schemas that follow from tables, by name.
std::map<std::string, Json> schemas(const std::string& folder) {
  std::vector<std::pair<std::string_view, const rlctl::JsonOutput*>> outputs;
  for (const auto* command : rlctl::cli::commands()) {
    outputs.emplace_back(command->text.name, command->json);
  }
  outputs.emplace_back(rlctl::cli::kVersionCommand.name, &rlctl::cli::kVersionJson);
  const std::array errors{&rlctl::cli::kErrorJson, &rlctl::cli::kFailureJson};
  Owners owners;
  for (const auto* object : errors) owners.emplace(object, "common");
  for (const auto& [name, output] : outputs) {
    for (const auto* object : output->objects) owners.emplace(object, name);
  }
  std::map<std::string, Json> schemas;
  auto& common = schemas["common"];
  common = Json::parse(contents_of(path_of(folder, "common")), nullptr, false);
  if (common.is_discarded()) {
    std::fprintf(stderr, "%s cannot be read\n", path_of(folder, "common").c_str());
    std::exit(2);
  }
  for (const auto* object : errors) {
    common["$defs"][std::string(object->name)] = Schema("common", owners).definition_of(*object);
  }
  for (const auto& [name, output] : outputs) {
    schemas.emplace(name, Schema(name, owners).make(*output));
  }
  return schemas;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const bool writes = words.size() == 2 && words[1] == "--write";
  if (words.size() != 1 && !writes) {
    std::fputs("usage: rlctl_schemas FOLDER [--write]\n", stderr);
    return 2;
  }
  int status = 0;
  for (const auto& [name, schema] : schemas(words[0])) {
    const auto path = path_of(words[0], name);
    const auto text = schema.dump(2) + '\n';
    if (contents_of(path) == text) continue;
    if (writes) {
      std::ofstream(path, std::ios::binary) << text;
    } else {
      std::printf("%s differs from the tables in cli; write it with rlctl_schemas %s --write\n",
                  path.c_str(), words[0].c_str());
      status = 1;
    }
  }
  return status;
}
