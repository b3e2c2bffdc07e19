package codemode

// ValidateArguments checks the raw arguments of a call of a tool, as Check
// does.
func (v *ArgumentValidator) ValidateArguments(tool Tool, arguments []byte) error {
	return v.Check(tool.Definition, arguments)
}
