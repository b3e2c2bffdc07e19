package declaration

import (
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/access/groups"
)

// groups returns the field of the groups of users by name.
func (r *reader) groups(d *File) field {
	return field{read: func(path string, raw []byte) {
		d.Groups = map[string]*groups.Declared{}
		folded := map[string]string{}
		r.each(path, raw, func(name, path string, v []byte) {
			if why := groups.NameProblem(name); why != "" {
				r.problem(path, why)
			}
			if other, taken := folded[groups.Fold(name)]; taken {
				r.problem(path, fmt.Sprintf("names of groups must be unique ignoring case: %q already exists", other))
			}
			folded[groups.Fold(name)] = name
			group := &groups.Declared{}
			r.object(path, v, fields{
				"claim":   r.text(&group.Claim, groups.MaxClaim),
				"role":    oneOf(r, &group.Role, models.RoleAdmin, models.RoleViewer, models.RoleMember, ""),
				"members": r.strings(&group.Members, groups.MaxDeclaredMembers, groups.MaxClaim),
			})
			d.Groups[name] = group
		})
	}}
}
