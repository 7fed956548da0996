#include "describe.h"

#include "ode.h"
#include "text.h"

static const char *shape_of(dGeomID geom)
{
    switch (dGeomGetClass(geom)) {
    case dSphereClass:
        return "sphere";
    case dBoxClass:
        return "box";
    case dCapsuleClass:
        return "capsule";
    case dCylinderClass:
        return "cylinder";
    case dPlaneClass:
        return "plane";
    case dRayClass:
        return "ray";
    case dConvexClass:
        return "convex hull";
    case dGeomTransformClass:
        return "transformed geom";
    case dTriMeshClass:
        return "mesh";
    case dHeightfieldClass:
        return "heightfield";
    default:
        return dGeomIsSpace(geom) ? "space" : "geom of the program's own class";
    }
}

static const char *type_of(dJointID joint)
{
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        return "ball";
    case dJointTypeHinge:
        return "hinge";
    case dJointTypeSlider:
        return "slider";
    case dJointTypeContact:
        return "contact";
    case dJointTypeUniversal:
        return "universal";
    case dJointTypeHinge2:
        return "hinge-2";
    case dJointTypeFixed:
        return "fixed";
    case dJointTypeAMotor:
        return "angular motor";
    case dJointTypeLMotor:
        return "linear motor";
    case dJointTypePlane2D:
        return "plane-2D";
    case dJointTypePR:
        return "prismatic-rotoide";
    case dJointTypePU:
        return "prismatic-universal";
    case dJointTypePiston:
        return "piston";
    case dJointTypeDBall:
        return "double-ball";
    case dJointTypeDHinge:
        return "double-hinge";
    case dJointTypeTransmission:
        return "transmission";
    default:
        return "unknown";
    }
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
