"""The commands of `babelatlas`, by what they work on."""
