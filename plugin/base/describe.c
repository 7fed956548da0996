#include "describe.h"

#include "ode.h"
#include "text.h"

static const char *shape_of(dGeomID geom)
{
    static const char *const names[] = {
        [dSphereClass] = "sphere",
        [dBoxClass] = "box",
        [dCapsuleClass] = "capsule",
        [dCylinderClass] = "cylinder",
        [dPlaneClass] = "plane",
        [dRayClass] = "ray",
        [dConvexClass] = "convex hull",
        [dGeomTransformClass] = "transformed geom",
        [dTriMeshClass] = "mesh",
        [dHeightfieldClass] = "heightfield",
    };
    int class = dGeomGetClass(geom);
    if (dGeomIsSpace(geom)) {
        return "space";
    }
    return class <= dHeightfieldClass ? names[class] : "geom of the program's own class";
}

static const char *type_of(dJointID joint)
{
    static const char *const names[] = {
        [dJointTypeNone] = "unknown",
        [dJointTypeBall] = "ball",
        [dJointTypeHinge] = "hinge",
        [dJointTypeSlider] = "slider",
        [dJointTypeContact] = "contact",
        [dJointTypeUniversal] = "universal",
        [dJointTypeHinge2] = "hinge-2",
        [dJointTypeFixed] = "fixed",
        [dJointTypeNull] = "unknown",
        [dJointTypeAMotor] = "angular motor",
        [dJointTypeLMotor] = "linear motor",
        [dJointTypePlane2D] = "plane-2D",
        [dJointTypePR] = "prismatic-rotoide",
        [dJointTypePU] = "prismatic-universal",
        [dJointTypePiston] = "piston",
        [dJointTypeDBall] = "double-ball",
        [dJointTypeDHinge] = "double-hinge",
        [dJointTypeTransmission] = "transmission",
    };
    unsigned type = (unsigned)dJointGetType(joint);
    return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

enum { PART_MAX = 64 };

// ", data 0x7ffc"; nothing for NULL.
static const char *print_data(char text[PART_MAX], const void *data)
{
    text[0] = '\0';
    if (data) {
        text_print(text, PART_MAX, ", data %p", data);
    }
    return text;
}

// "body 3 (WHAT at (0, 0.5, 2), address 0x5581, data 0x7ffc)"
static void print_body(char text[DESCRIPTION_MAX], dBodyID body, const char *what)
{
    char number[PART_MAX] = "", data[PART_MAX];
    const dReal *at = dBodyGetPosition(body);
    int place = sprag_ode_body_number(body);
    if (place) {
        text_print(number, sizeof number, " %d", place);
    }
    text_print(text, DESCRIPTION_MAX, "body%s (%sat (%.4g, %.4g, %.4g), address %p%s)", number,
               what, at[0], at[1], at[2], (void *)body, print_data(data, dBodyGetData(body)));
}

const char *describe_body(char text[DESCRIPTION_MAX], dBodyID body)
{
    char shape[PART_MAX] = "without geom, ";
    if (!body) {
        text_print(text, DESCRIPTION_MAX, "the static environment");
        return text;
    }
    if (dBodyGetFirstGeom(body)) {
        text_print(shape, sizeof shape, "%s, ", shape_of(dBodyGetFirstGeom(body)));
    }
    print_body(text, body, shape);
    return text;
}

const char *describe_geom(char text[DESCRIPTION_MAX], dGeomID geom)
{
    char part[DESCRIPTION_MAX];
    dBodyID body = dGeomGetBody(geom);
    if (body) {
        print_body(part, body, "");
        text_print(text, DESCRIPTION_MAX, "the %s of %s", shape_of(geom), part);
    } else {
        text_print(text, DESCRIPTION_MAX, "the static %s %p%s", shape_of(geom), (void *)geom,
                   print_data(part, dGeomGetData(geom)));
    }
    return text;
}

const char *describe_joint(char text[DESCRIPTION_MAX], dJointID joint)
{
    text_print(text, DESCRIPTION_MAX, "%s joint %p", type_of(joint), (void *)joint);
    return text;
}
